"""Fields of CSV, which are text, to the types of their columns; and which of them do not fit.

Text fits where Spark's `from_csv` reads it without loss: integers within their width, decimals
without rounding, booleans in any case, dates and times as ISO 8601 writes them (without a zone they
are UTC). Blanks are part of a field.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.text_values import NOTHING, day_of, decimal_of, microseconds_of

_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_OTHER_DOUBLES = {"NaN": math.nan, "Inf": math.inf, "-Inf": -math.inf}

_DIGITS = {8: 2, 16: 4, 32: 9, 64: 18}
"""By bits of an integer, how many digits surely fit."""

_TIME = r"[1-9]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?Z?"
_DAY = r"[1-9]\d{3}-\d\d-\d\d"


def column_of(texts: pa.StringArray, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """The values of a column, null where a field is or does not fit, and the rows of the latter."""
    if pa.types.is_string(kind):
        return texts, []
    is_sure = pc.match_substring_regex(texts, f"^(?:{_sure(kind)})$")
    try:
        made = _cast(pc.if_else(is_sure, texts, pa.scalar(None, pa.string())), kind)
    except pa.ArrowInvalid:  # such as the 30th of February, or minute 60
        is_sure, made = pc.if_else(pc.is_null(texts), None, False), pa.nulls(len(texts), kind)  # noqa: FBT003
    others = pc.indices_nonzero(pc.invert(is_sure)).to_pylist()
    if not others:
        return made, []
    values: list[Any] = []
    misfits = []
    for row in others:
        value = _value(kind, texts[row].as_py())
        misfits += [row] if value is NOTHING else []
        values.append(None if value is NOTHING else value)
    return pc.replace_with_mask(made, _mask(len(texts), others), pa.array(values, kind)), misfits


def _mask(length: int, rows: list[int]) -> pa.BooleanArray:
    return pc.is_in(pa.arange(0, length), value_set=pa.array(rows, pa.int64()))


def _sure(kind: pa.DataType) -> str:
    """Which texts Arrow reads as we do, but for some that it refuses."""
    if pa.types.is_integer(kind):
        return rf"-?\d{{1,{_DIGITS[kind.bit_width]}}}"
    if pa.types.is_floating(kind):
        return r"-?\d{1,15}(\.\d{1,15})?"
    if pa.types.is_decimal(kind):
        whole, scale = kind.precision - kind.scale, kind.scale
        return (
            rf"-?\d{{1,{whole}}}" + (rf"(\.\d{{1,{scale}}})?" if scale else "") if whole else "$^"
        )
    if pa.types.is_boolean(kind):
        return "true|false"
    return _TIME if pa.types.is_timestamp(kind) else _DAY


def _cast(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pc.equal(texts, "true")
    if pa.types.is_timestamp(kind):
        return pc.utf8_rtrim(texts, "Z").cast(pa.timestamp("us")).cast(kind)
    return texts.cast(kind)


def _value(kind: pa.DataType, text: str) -> Any:  # noqa: ANN401
    """What a column gets of a text, or NOTHING."""
    if pa.types.is_integer(kind):
        bound = 2 ** (kind.bit_width - 1)
        number = int(text) if _INTEGER.fullmatch(text) else bound
        return number if -bound <= number < bound else NOTHING
    if pa.types.is_floating(kind):
        return _floating(kind, text)
    if pa.types.is_decimal(kind):
        return decimal_of(kind, text)
    if pa.types.is_boolean(kind):
        return _BOOLEANS.get(text.lower(), NOTHING)
    return microseconds_of(text) if pa.types.is_timestamp(kind) else day_of(text)


_BOOLEANS: Mapping[str, bool] = {"true": True, "false": False}


def _floating(kind: pa.DataType, text: str) -> Any:  # noqa: ANN401
    if text in _OTHER_DOUBLES:
        return _OTHER_DOUBLES[text]
    if not _DOUBLE.fullmatch(text):
        return NOTHING
    # Arrow reads a float's text as one; by way of a double some would be rounded twice.
    number = pa.scalar(text.removeprefix("+")).cast(kind).as_py()
    return number if math.isfinite(number) else NOTHING
