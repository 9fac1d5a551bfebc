"""Text to numbers, dates and times, as all formats read it that have these as text."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

import pyarrow as pa

NOTHING: Any = object()
"""Stands for a value that does not fit, and for nothing to rescue."""

TIME = (
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?"
    r"(Z|[+-](?:(?:0\d|1[0-7])(?::?[0-5]\d)?|18(?::?00)?))?)?)?)?"
)
"""Times that are read, as a regular expression that Arrow means the same by: ISO 8601 as Spark has
it. A zone stands behind seconds alone, and is no more than 18 hours away."""

_TIME = re.compile(TIME, re.ASCII)

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decimal_of(kind: pa.Decimal128Type, value: Any) -> Any:  # noqa: ANN401
    """An exact number, of text or an integer, or NOTHING if the type does not hold it exactly."""
    if not isinstance(value, int | str) or not _NUMBER.fullmatch(str(value)):
        return NOTHING
    with localcontext() as context:
        context.prec = 2 * kind.precision
        exact = Decimal(str(value))
        try:
            made = exact.quantize(Decimal(1).scaleb(-kind.scale))
        except InvalidOperation:
            return NOTHING
    is_short = len(made.as_tuple().digits) <= kind.precision
    return made if is_short and made == exact else NOTHING


def day_of(text: str) -> Any:  # noqa: ANN401
    """A date as ISO 8601 writes it, or NOTHING."""
    if not _DATE.fullmatch(text):
        return NOTHING
    try:
        return date.fromisoformat(text)
    except ValueError:
        return NOTHING


def microseconds_of(text: str) -> Any:  # noqa: ANN401
    """Since 1970, of a time as ISO 8601 writes it; what is finer is cut off, as Spark does."""
    match = _TIME.fullmatch(text)
    if match is None:
        return NOTHING
    *numbers, fraction, zone = match.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    micros = int((fraction or "0").ljust(6, "0")[:6])
    try:
        at = datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC) - _offset(zone)
    except (ValueError, OverflowError):
        return NOTHING
    return (at - _EPOCH) // timedelta(microseconds=1)


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if zone[0] == "-" else offset
