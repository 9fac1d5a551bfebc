"""Which columns a record becomes: names and types that Spark has, and Delta at reader 1. Pure."""

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.avro.schema import Type
from lake_assets.formats.avro.walk import width_of
from lake_assets.formats.confluent.version_columns import NEXT_STEP, columns_of

MICROSECONDS: Mapping[str, str] = {"comment": "microseconds"}
"""Metadata of a column that was a time of day."""

_SCALARS = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "fixed": pa.binary(),
    "enum": pa.string(),
}

_TIMESTAMP = pa.timestamp("us", tz="UTC")

_DURATION = pa.struct([pa.field(name, pa.int64()) for name in ("months", "days", "milliseconds")])
"""Avro's has unsigned numbers of 32 bits, of which none is worth a fixed number of another."""

_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.int64(),
    "time-micros": pa.int64(),
    "timestamp-millis": _TIMESTAMP,
    "timestamp-micros": _TIMESTAMP,
    "timestamp-nanos": _TIMESTAMP,
    "local-timestamp-millis": _TIMESTAMP,
    "local-timestamp-micros": _TIMESTAMP,
    "local-timestamp-nanos": _TIMESTAMP,
    "uuid": pa.string(),
    "duration": _DURATION,
}


def columns(record: Type) -> pa.Schema:
    """Columns of the decoded rows, all nullable, in the record's order.

    What no value can be in has no column: null, a record without fields, an array of those.

    Args:
        record: of a version, named by `naming.named`.

    Raises:
        SchemaUnusableError: no column is left, two have one name, or one has silver's own.
    """
    thing = f"record {record.name}"
    made = columns_of(thing, _fields(record))
    twice = _twice(made.names)
    if twice is not None:
        fact = f"two fields are column {twice}, under the newest version's names"
        raise SchemaUnusableError(thing, fact, NEXT_STEP)
    return made


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None


def _fields(record: Type) -> list[pa.Field]:
    made = []
    for one in record.fields:
        for name, read in one.type.parts(one.column):
            kind = type_of(read)
            if kind is not None:
                comment = MICROSECONDS if _is_time(read) else None
                made.append(pa.field(name, kind, nullable=True, metadata=comment))
    return made


def _is_time(kind: Type) -> bool:
    """Whether a field's numbers are microseconds, of whichever of its types."""
    if kind.kind in {"union", "array"}:
        return not kind.members and any(map(_is_time, _read(kind)))
    return kind.logical.startswith("time-")


def type_of(kind: Type) -> pa.DataType | None:
    """A type in Arrow; None if nothing can have it."""
    if kind.skipped and kind.kind != "union":
        return None
    if kind.logical == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    if kind.logical:
        return _LOGICAL[kind.logical]
    made = _NESTED.get(kind.kind)
    return _SCALARS.get(kind.kind) if made is None else made(kind)


def _record(kind: Type) -> pa.DataType | None:
    fields = _fields(kind)
    return pa.struct(fields) if fields else None


def _array(kind: Type) -> pa.DataType | None:
    item = type_of(kind.inner[0])
    # Items without bytes may be without number.
    is_none = item is None or not width_of(kind.inner[0])
    return None if is_none else pa.list_(pa.field("item", item))


def _map(kind: Type) -> pa.DataType | None:
    value = type_of(kind.inner[0])
    return None if value is None else pa.map_(pa.string(), value)


def _union(kind: Type) -> pa.DataType | None:
    if kind.members:
        pairs = zip(kind.members, kind.inner, strict=True)
        fields = [
            pa.field(name, made)
            for member, one in sorted(pairs, key=lambda pair: (len(pair[0]), pair[0]))
            if member
            for name, read in one.parts(member)
            if (made := type_of(read)) is not None
        ]
        return pa.struct(fields) if fields else None
    made = [found for one in _read(kind) if (found := type_of(one)) is not None]
    # Of `int` and `long`, or of `float` and `double`, the second in this order.
    return max(made, key=lambda one: one.bit_width if len(made) > 1 else 0, default=None)


def _read(kind: Type) -> list[Type]:
    """The inner types whose values are not passed over."""
    return [one for place, one in enumerate(kind.inner) if place not in kind.skipped]


_NESTED: Mapping[str, Callable[[Type], pa.DataType | None]] = {
    "record": _record,
    "union": _union,
    "only": _union,
    "array": _array,
    "map": _map,
}
