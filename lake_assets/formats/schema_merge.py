"""Columns of a table and columns of a new schema, made one: pure.

Knows neither protobuf nor Delta; both sides are Arrow schemas of types that a table can have.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

_DECIMAL = pa.decimal128(20, 0)

_WIDTHS: Sequence[Sequence[pa.DataType]] = (
    (pa.int8(), pa.int16(), pa.int32(), pa.int64(), _DECIMAL),
    (pa.float32(), pa.float64()),
)
"""Types that hold all values of those before them in the same row."""

_WORDS = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Mismatch:
    """Why a schema cannot have its rows in a table."""

    path: str
    """The schema's field, with the fields it is nested in: `player.level`."""

    came: str
    """Its type in words; or its name, where names differ by case alone."""

    have: str
    """The column's."""

    is_name: bool = False

    def in_words(self, version: int) -> str:
        """For the quarantine table; `version` is the schema's."""
        if self.is_name:
            return (
                f"field {self.path} in version {version} differs from the column {self.have} "
                "by case alone"
            )
        return (
            f"field {self.path} is {self.came} in version {version}, and the column is {self.have}"
        )


_Kind: TypeAlias = pa.DataType | Mismatch


def merge(
    have: pa.Schema, came: pa.Schema, *, rounds: bool = False, promotes: bool = False
) -> pa.Schema | Mismatch:
    """Columns that hold the rows of both: `have`'s in their order, then the new ones.

    Types widen where one holds all values of the other, at any depth: `tinyint`, `smallint`, `int`,
    `bigint` and `decimal(20,0)` to those after them, `float` to `double`, a struct by fields. All
    columns are nullable. Where these are `have`, it is `have` itself.

    Args:
        have: the columns that are there.
        came: those that are to be.
        rounds: whether integers and doubles go together, as doubles.
        promotes: whether types also widen as Avro's rules of resolution say: integers to `double`,
            `string` to `binary`, a decimal to one of more digits and the same scale.
    """
    fields = _Merge(rounds, promotes).fields(have, came, "")
    if isinstance(fields, Mismatch):
        return fields
    made = pa.schema(fields)
    # What is one object is pickled once, however many subjects' decoders have it.
    return have if made.equals(have, check_metadata=True) else made


def goes_with(have: pa.Field, came: pa.Field, *, promotes: bool = False) -> bool:
    """Whether a column holds a field's values, or gets a type that does, as `merge` says."""
    if have.equals(came, check_metadata=True):
        return True
    made = merge(pa.schema([have]), pa.schema([came]), promotes=promotes)
    return not isinstance(made, Mismatch)


def in_words(kind: pa.DataType) -> str:
    """A type as Spark SQL names it."""
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {in_words(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{in_words(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{in_words(kind.key_type)}, {in_words(kind.item_type)}>"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _WORDS.get(kind, str(kind))


@dataclass(frozen=True, slots=True)
class _Merge:
    rounds: bool
    promotes: bool

    def fields(
        self, have: Iterable[pa.Field], came: Iterable[pa.Field], path: str
    ) -> list[pa.Field] | Mismatch:
        fields = {field.name.lower(): field.with_nullable(nullable=True) for field in have}
        for field in came:
            key, whole = field.name.lower(), f"{path}{field.name}"
            before = fields.setdefault(key, field.with_nullable(nullable=True))
            if before.name != field.name:
                return Mismatch(
                    path=whole, came=field.name, have=f"{path}{before.name}", is_name=True
                )
            if is_timed(before) != is_timed(field):
                return Mismatch(path=whole, came=_with_unit(field), have=_with_unit(before))
            kind = self._wider(before.type, field.type, whole)
            if isinstance(kind, Mismatch):
                return kind
            fields[key] = before.with_type(kind)
        return list(fields.values())

    def _wider(self, have: pa.DataType, came: pa.DataType, path: str) -> _Kind:
        if pa.types.is_struct(have) and pa.types.is_struct(came):
            fields = self.fields(have, came, f"{path}.")
            return fields if isinstance(fields, Mismatch) else pa.struct(fields)
        if pa.types.is_list(have) and pa.types.is_list(came):
            item = self._wider(have.value_type, came.value_type, path)
            return item if isinstance(item, Mismatch) else pa.list_(pa.field("item", item))
        if pa.types.is_map(have) and pa.types.is_map(came):
            return self._wider_map(have, came, path)
        rows = [row for row in _WIDTHS if have in row and came in row]
        if rows:
            return max(have, came, key=rows[0].index)
        promoted = self._promoted(have, came)
        if have == came or promoted is not None:
            return have if promoted is None else promoted
        return Mismatch(path=path, came=in_words(came), have=in_words(have))

    def _promoted(self, have: pa.DataType, came: pa.DataType) -> pa.DataType | None:
        """What further rules make of two types, if they make one of them."""
        kinds = (have, came)
        is_mixed = any(map(pa.types.is_floating, kinds)) and any(map(pa.types.is_integer, kinds))
        if is_mixed and (self.rounds or self.promotes):
            return pa.float64()
        if self.promotes and {*kinds} == {pa.string(), pa.binary()}:
            return pa.binary()
        if self.promotes and all(map(pa.types.is_decimal, kinds)) and have.scale == came.scale:
            return max(kinds, key=lambda kind: int(kind.precision))
        return None

    def _wider_map(self, have: pa.MapType, came: pa.MapType, path: str) -> _Kind:
        key = self._wider(have.key_type, came.key_type, path)
        value = self._wider(have.item_type, came.item_type, path)
        if isinstance(key, Mismatch):
            return key
        return value if isinstance(value, Mismatch) else pa.map_(key, value)


def is_timed(field: pa.Field) -> bool:
    """Whether the numbers of a column are microseconds; others of the same type are not."""
    return (field.metadata or {}).get(b"comment") == b"microseconds"


def _with_unit(field: pa.Field) -> str:
    return f"{in_words(field.type)}{' of microseconds' if is_timed(field) else ''}"
