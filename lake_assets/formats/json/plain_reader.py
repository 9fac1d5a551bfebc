"""Values one by one by a fast parser, as far as there is nothing to say of them but their columns.

Between Arrow's reader, which takes all or nothing, and `formats.json.row_reader`, which knows what
to say of any value: one bad row in a batch costs the others a factor of three, not of thirty. What
is not plainly of its column's type is left to the row reader. Measured a core on 110-byte events
of five columns: about 300,000 rows/s.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import pyarrow as pa
from pydantic_core import from_json

from lake_assets.formats.json.parse import DEEPEST, text_of
from lake_assets.formats.json.vector_reader import EXACT, raw_schema, stored

_Test: TypeAlias = Callable[[Any], bool]

_NEGATIVE_ZERO = re.compile(rb"-0(?![.eE\d])")
"""As an integer; the fast parser takes it for `0`. Values with it in a string wait without need."""

_FEWEST = 16
"""Values that are left to the row reader if a time among them is of another form."""


@dataclass(frozen=True, slots=True)
class Plain:
    """What became of some values."""

    columns: pa.RecordBatch
    """Of the plain ones, in their order, without gaps."""

    rows: list[int]
    """Which ones these are."""

    rescued: dict[int, str]
    """By value, what of it was left over."""


def read_plain(values: Sequence[bytes], fields: pa.Schema, *, rest: str | None) -> Plain:
    """Read the values that are plain.

    Args:
        values: none is null.
        fields: as `vector_reader.can_read` takes them.
        rest: what becomes of names that are no field: `rescue`, `ignore`, or None for values that
            have some are not plain.
    """
    tests = {field.name: _test(field.type) for field in fields}
    objects, rows, rescued = [], [], {}
    for row, value in enumerate(values):
        parsed = _parsed(value)
        if parsed is None:
            continue
        unknown = parsed.keys() - tests.keys()
        if unknown and rest != "ignore":
            left = {
                name: member
                for name, member in parsed.items()
                if name in unknown and member is not None
            }
            if rest is None or not all(map(_is_exact, left.values())):
                continue
            if left:
                rescued[row] = text_of(left)
        known = ((tests[name], value) for name, value in parsed.items() if name in tests)
        if all(value is None or test(value) for test, value in known):
            objects.append(parsed)
            rows.append(row)
    columns, kept = _columns(objects, rows, fields)
    return Plain(columns, kept, rescued)


def _columns(
    objects: list[dict[str, Any]], rows: list[int], fields: pa.Schema
) -> tuple[pa.RecordBatch, list[int]]:
    """The columns of objects; those are left out, and their rows, that have no plain times."""
    try:
        structs = pa.array(objects, pa.struct(list(raw_schema(fields))))
        made = stored(pa.Table.from_batches([pa.RecordBatch.from_struct_array(structs)]), fields)
    except pa.ArrowInvalid:
        made = None
    if made is not None:
        return made, rows
    if len(objects) <= _FEWEST:
        return pa.RecordBatch.from_pylist([], schema=fields), []
    middle = len(objects) // 2
    left, some = _columns(objects[:middle], rows[:middle], fields)
    right, others = _columns(objects[middle:], rows[middle:], fields)
    return pa.concat_batches([left, right]), some + others


def _parsed(value: bytes) -> dict[str, Any] | None:
    """The object that a value is, if that is beyond doubt."""
    if len(value) > 2 * DEEPEST and value.count(b"[") + value.count(b"{") > DEEPEST:
        return None
    if b"-0" in value and _NEGATIVE_ZERO.search(value):
        return None
    try:
        parsed = from_json(value, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        return None
    return parsed if type(parsed) is dict else None


def _is_exact(value: object) -> bool:
    """Whether a value has its digits; the fast parser takes `1.50` and `1.5` for the same."""
    return type(value) in (str, int, bool)


def _test(kind: pa.DataType) -> _Test:
    """Whether a value that is not null is plainly of a type."""
    if pa.types.is_struct(kind):
        return _struct_test({field.name: _test(field.type) for field in kind})
    if pa.types.is_list(kind):
        return _list_test(_test(kind.value_type))
    if pa.types.is_boolean(kind):
        return lambda value: type(value) is bool
    if pa.types.is_integer(kind):
        bound = 2 ** (kind.bit_width - 1)
        return lambda value: type(value) is int and -bound <= value < bound
    if pa.types.is_floating(kind):
        return _is_double
    return lambda value: type(value) is str


def _is_double(value: object) -> bool:
    is_whole = type(value) is int and -EXACT <= value <= EXACT
    return is_whole or (type(value) is float and isfinite(value))


def _struct_test(tests: Mapping[str, _Test]) -> _Test:
    def is_plain(value: Any) -> bool:  # noqa: ANN401 - any JSON value
        return type(value) is dict and all(
            name in tests and (member is None or tests[name](member))
            for name, member in value.items()
        )

    return is_plain


def _list_test(test: _Test) -> _Test:
    def is_plain(value: Any) -> bool:  # noqa: ANN401 - any JSON value
        return type(value) is list and all(item is None or test(item) for item in value)

    return is_plain
