"""Transforms: what becomes of decoded columns before a row has its table; frozen nouns.

What an expression means is Spark SQL's; how it is computed, the business of `silver`.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

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
"""What `explode` means for values without elements: each is dropped, and counted. Those whose array
did not fit are none: of a feed that has this, by whatever action, they are refused before it."""


def generators_in(items: Sequence[str]) -> list[str]:
    """The items that make several rows of one: `explode(items) as item`, `inline(items)`."""
    return [item for item in items if _GENERATOR.match(item)]


def refuse_beside_elements(items: Sequence[str], declared: Mapping[str, object]) -> None:
    """Refuse what tells rows by their origin alone, where several rows have the same one.

    Args:
        items: of a feed's `select`.
        declared: by field of the feed that does, what it has there.

    Raises:
        ValueError: it is declared, and an item makes several rows of one.
    """
    found = generators_in(items)
    beside = [name for name, value in declared.items() if value]
    if found and beside:
        message = f"select: {found[0]!r} makes several rows of one, which {beside[0]} cannot take"
        raise ValueError(message)


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


_NAMED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def _name_of(function: Any) -> Any:  # noqa: ANN401 - whatever was given
    """The name of a function that a feed made in Python has itself."""
    if not callable(function):
        return function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name or "<" in name or module == "__main__":
        message = f"{name or function!r} cannot be found by a name in Spark's workers\nuse a "
        message += "function at the top of a module"
        raise ValueError(message)
    return f"{module}:{name}"


def _named(name: str) -> str:
    if _NAMED.fullmatch(name) is None:
        message = f"{name!r} names no function\nwrite `package.module:function`"
        raise ValueError(message)
    return name


FunctionName = Annotated[str, BeforeValidator(_name_of), AfterValidator(_named)]
"""`package.module:function`; where a feed is made in Python, the function itself does."""


class Mask(StrEnum):
    """How a column's text is hidden; null stays null."""

    HASH = "hash"  # HMAC-SHA-256 with the lake's key, in hexadecimal: equal texts stay equal
    REDACT = "redact"  # `***`
    LAST4 = "last4"  # `***` and the last four characters, of eight or more
