"""Transforms: what becomes of decoded columns before a row has its table; frozen nouns.

What an expression means is Spark SQL's; how it is computed, the business of `silver`.
"""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field


def _single(item: str) -> str:
    if not item.strip():
        message = "an item of select is empty"
        raise ValueError(message)
    return item.strip()


SelectItem = Annotated[str, Field(min_length=1), AfterValidator(_single)]
"""As in Spark's `SELECT`: `*`, `* except (email)`, `time as event_time`, `price * 2 as double`."""


_NAMED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def _name_of(function: Any) -> Any:  # noqa: ANN401 - whatever was given
    """The name of a function that a feed made in Python has itself."""
    if not callable(function):
        return function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name or "<" in name or module == "__main__":
        message = f"{name or function!r} cannot be found by a name in Spark's workers: use a "
        message += "function at the top of a module"
        raise ValueError(message)
    return f"{module}:{name}"


def _named(name: str) -> str:
    if _NAMED.fullmatch(name) is None:
        message = f"{name!r} names no function: write `package.module:function`"
        raise ValueError(message)
    return name


FunctionName = Annotated[str, BeforeValidator(_name_of), AfterValidator(_named)]
"""`package.module:function`; where a feed is made in Python, the function itself does."""


class Mask(StrEnum):
    """How a column's text is hidden; null stays null."""

    HASH = "hash"  # HMAC-SHA-256 with the lake's key, in hexadecimal: equal texts stay equal
    REDACT = "redact"  # `***`
    LAST4 = "last4"  # `***` and the last four characters, of eight or more
