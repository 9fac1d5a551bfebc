"""Transforms: what becomes of decoded columns before a row has its table; frozen nouns.

What an expression means is Spark SQL's; how it is computed, the business of `silver`.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from lake_assets.model.expectations import Action, Expectation


def _single(item: str) -> str:
    if not item.strip():
        message = "an item of select is empty"
        raise ValueError(message)
    return item.strip()


SelectItem = Annotated[str, Field(min_length=1), AfterValidator(_single)]
"""As in Spark's `SELECT`: `*`, `* except (email)`, `time as event_time`, `price * 2 as double`."""

ELEMENT = "_element"
"""Column of silver where `select` makes a row of each element of an array: which one it is, counted
from 0; null in the one row of a value that has none. With a row's origin it is its identity."""

_GENERATOR = re.compile(r"(?:(?:pos)?explode|inline)(_outer)?\s*\(", re.IGNORECASE)

HAS_ELEMENTS = Expectation(
    name="has_elements", sql=f"{ELEMENT} is not null", action=Action.DROP, keys=None
)
"""What `explode` means for values without elements: each is dropped, and counted."""


def generators_in(items: Sequence[str]) -> list[str]:
    """The items that make several rows of one: `explode(items) as item`, `inline(items)`."""
    return [item for item in items if _GENERATOR.match(item)]


def with_implied(
    items: Sequence[str], expectations: tuple[Expectation, ...]
) -> tuple[Expectation, ...]:
    """A feed's expectations, with the one that its `select` implies, unless it declares that.

    It is the first: of a row that is no element nothing else is expected.
    """
    declared = tuple(one for one in expectations if one.name == HAS_ELEMENTS.name)
    others = tuple(one for one in expectations if one.name != HAS_ELEMENTS.name)
    implies = any(match[1] is None for match in map(_GENERATOR.match, items) if match)
    if not implies:
        return expectations
    return (*(declared or (HAS_ELEMENTS,)), *others)


class Mask(StrEnum):
    """How a column's text is hidden; null stays null."""

    HASH = "hash"  # HMAC-SHA-256 with the lake's key, in hexadecimal: equal texts stay equal
    REDACT = "redact"  # `***`
    LAST4 = "last4"  # `***` and the last four characters, of eight or more
