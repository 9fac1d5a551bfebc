"""One parsed object to the values of its columns, and what of it fits none.

A value fits where Spark's `from_json` reads it without loss: integers within their width, no
numbers in strings and no strings in numbers, decimals also as text, binary as Base64, times as
ISO 8601 text (without a zone they are UTC). Numbers are no times: nobody knows of which unit.
"""

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from lake_assets.formats.json.numbers import NEGATIVE_ZERO, Number
from lake_assets.formats.json.parse import is_unicode, path_in_words, text_of
from lake_assets.formats.schema_merge import in_words
from lake_assets.formats.text_values import NOTHING, day_of, decimal_of, microseconds_of

Path: TypeAlias = tuple[str | None, ...]
"""Names from a row's own to an inner one; None stands for the items of an array or a map."""


_SHOWN = 100
"""Characters of a value that words about it show."""

ANY_VALUE = pa.large_string()
"""Type, in what is read, of text that any value becomes: a string as it is, others as JSON. Tables
have it as `string`."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that does not fit its column."""

    path: Path
    kind: str
    """The column's type in words."""

    value: Any

    @property
    def words(self) -> str:
        """The same in words."""
        return f"{path_in_words(self.path)} is no {self.kind}: {text_of(self.value)[:_SHOWN]}"


@dataclass(slots=True)
class Notes:
    """What was met on the way through a row."""

    keeps_unknown: bool = True
    """Whether what nobody declared is left over, or of no interest."""

    exact: frozenset[str] = frozenset()
    """A row's fields in which doubles hold no integer that they would round."""

    unknown: list[Path] = field(default_factory=list)
    """Where values are that nobody declared, one entry a value; nulls say nothing."""

    misfits: list[Misfit] = field(default_factory=list)


def struct_values(
    fields: Mapping[str, pa.DataType], found: dict[str, Any], notes: Notes, path: Path = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of the fields, and those of the object that are in none of them."""
    made, rest = {}, {}
    for name, value in found.items():
        kind = fields.get(name)
        if value is None:
            continue
        if kind is None:
            notes.unknown.append((*path, name))
            if notes.keeps_unknown:
                rest[name] = value
            continue
        made[name], left = _value(kind, value, notes, (*path, name))
        if left is not NOTHING:
            rest[name] = left
    return made, rest


def item_misfit(kind: pa.ListType, items: list[Any], path: Path) -> tuple[int, Misfit] | None:
    """The first item of an array that does not fit, by its number; None if all do.

    Args:
        kind: of the array.
        items: what it is to hold.
        path: where it is.
    """
    for number, item in enumerate(items):
        notes = Notes(keeps_unknown=False)
        _item(kind.value_type, item, notes, (*path, None))
        if notes.misfits:
            return number, notes.misfits[0]
    return None


def _value(kind: pa.DataType, value: Any, notes: Notes, path: Path) -> tuple[Any, Any]:  # noqa: ANN401
    """What a column gets of a value, and what is left over of it."""
    if pa.types.is_struct(kind) and isinstance(value, dict):
        made, rest = struct_values(_fields(kind), value, notes, path)
        return made, rest or NOTHING
    if _is_many(kind, value):
        before = len(notes.unknown)
        made = _many(kind, value, notes, path)
        if made is NOTHING:
            notes.misfits.append(Misfit(path, in_words(kind), value))
            return None, value
        # Of many only the whole says which of them something was left over of.
        is_less = notes.keeps_unknown and len(notes.unknown) > before
        return made, value if is_less else NOTHING
    made = _text(value) if kind == ANY_VALUE else _scalar(kind, value)
    is_rounded = path[0] in notes.exact and pa.types.is_floating(kind) and _is_rounded(value)
    if made is NOTHING or is_rounded:
        notes.misfits.append(Misfit(path, in_words(kind), value))
        return None, value
    return made, NOTHING


def _fields(kind: pa.StructType) -> dict[str, pa.DataType]:
    return {struct_field.name: struct_field.type for struct_field in kind}


def _is_many(kind: pa.DataType, value: object) -> bool:
    is_list = pa.types.is_list(kind) and isinstance(value, list)
    return is_list or (pa.types.is_map(kind) and isinstance(value, dict))


def _many(kind: pa.DataType, value: Any, notes: Notes, path: Path) -> Any:  # noqa: ANN401
    """The items of an array or a map, or NOTHING if one of them does not fit."""
    own = Notes(keeps_unknown=notes.keeps_unknown, exact=notes.exact)
    path = (*path, None)
    if isinstance(value, list):
        made: Any = [_item(kind.value_type, item, own, path) for item in value]
    else:
        if not all(is_unicode(name) for name in value):
            return NOTHING
        items = value.items()
        made = [(name, _item(kind.item_type, item, own, path)) for name, item in items]
    notes.unknown += own.unknown
    return NOTHING if own.misfits else made


def _item(kind: pa.DataType, item: Any, notes: Notes, path: Path) -> Any:  # noqa: ANN401
    return None if item is None else _value(kind, item, notes, path)[0]


def _scalar(kind: pa.DataType, value: Any) -> Any:  # noqa: ANN401
    """A value as Arrow takes it for a type, or NOTHING."""
    is_text = isinstance(value, str) and not isinstance(value, Number)
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else NOTHING
    if isinstance(value, bool):
        return NOTHING
    if pa.types.is_integer(kind):
        value = 0 if value == NEGATIVE_ZERO and not is_text else value
        bound = 2 ** (kind.bit_width - 1)
        return value if isinstance(value, int) and -bound <= value < bound else NOTHING
    if pa.types.is_floating(kind):
        return _floating(kind, value) if not is_text else NOTHING
    if pa.types.is_decimal(kind):
        return decimal_of(kind, value)
    return _of_text(kind, value) if is_text else NOTHING


def _text(value: Any) -> Any:  # noqa: ANN401
    """Any value as text: a string as it is, others as JSON."""
    text = value if isinstance(value, str) else text_of(value)
    return text if is_unicode(text) else NOTHING


def _of_text(kind: pa.DataType, text: str) -> Any:  # noqa: ANN401
    if pa.types.is_string(kind):
        return text if is_unicode(text) else NOTHING
    if pa.types.is_timestamp(kind):
        return microseconds_of(text)
    if pa.types.is_date(kind):
        return day_of(text)
    if pa.types.is_binary(kind):
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return NOTHING
    return NOTHING


def _floating(kind: pa.DataType, value: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, int | Number):
        return NOTHING
    number = float(value)
    if pa.types.is_float32(kind):
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
    return number if math.isfinite(number) else NOTHING


def _is_rounded(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is an integer that no double is."""
    is_integer = isinstance(value, int) or (isinstance(value, Number) and value.is_integer)
    return is_integer and Decimal(value) != Decimal(float(value))
