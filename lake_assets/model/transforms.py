"""Transforms: what becomes of decoded columns before a row has its table; frozen nouns.

What an expression means is Spark SQL's; how it is computed, the business of `silver`.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field


def _single(item: str) -> str:
    if not item.strip():
        message = "an item of select is empty"
        raise ValueError(message)
    return item.strip()


SelectItem = Annotated[str, Field(min_length=1), AfterValidator(_single)]
"""As in Spark's `SELECT`: `*`, `* except (email)`, `time as event_time`, `price * 2 as double`."""


class Mask(StrEnum):
    """How a column's text is hidden; null stays null."""

    HASH = "hash"  # HMAC-SHA-256 with the lake's key, in hexadecimal: equal texts stay equal
    REDACT = "redact"  # `***`
    LAST4 = "last4"  # `***` and the last four characters, of eight or more
