"""Records, unions, arrays and maps of many rows at once: from bytes to Arrow arrays.

A field is read in all rows before the next one is, so the cost of a step is shared by the rows.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from lake_assets.formats.avro.cursor import Cursor, Longs, Source
from lake_assets.formats.avro.defaults import encode
from lake_assets.formats.avro.item_places import Items
from lake_assets.formats.avro.leaves import leaf
from lake_assets.formats.avro.schema import Fill, Type
from lake_assets.formats.avro.walk import NO_BRANCH

_KEY = Type(kind="string")


def decode(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str = "") -> pa.Array | None:
    """Read one value of each.

    Args:
        kind: what the writer wrote, with the names of columns.
        to: what it becomes; None passes over it.
        cursor: where the values are; goes on behind them.
        place: the field, for what is wrong; empty for the whole datum.
    """
    if kind.skipped and kind.kind != "union":
        _decode(kind, None, cursor, place)
        return None if to is None else pa.nulls(len(cursor), to)
    return _decode(kind, to, cursor, place)


def _decode(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    return _NESTED.get(kind.kind, leaf)(kind, to, cursor, place)


def decode_fields(
    kind: Type, columns: Sequence[pa.Field], cursor: Cursor, place: str = ""
) -> list[pa.Array]:
    """Read one record of each: an array a column, null where the writer knows no such field.

    Args:
        kind: the record.
        columns: what is wanted of it.
        cursor: where the records are; goes on behind them.
        place: the field that holds the record.
    """
    types = {column.name: column.type for column in columns}
    found: dict[str, pa.Array] = {}
    for one in kind.fields:
        below = f"{place}.{one.name}" if place else one.name
        found |= _parts(one.column, one.type, types, cursor, below)
    zeros = pa.array(np.zeros(len(cursor), np.int64))
    for fill in kind.fills:
        if fill.column in types:
            found[fill.column] = _default(fill, types[fill.column]).take(zeros)
    made = ((found.get(column.name), column.type) for column in columns)
    return [pa.nulls(len(cursor), to) if one is None else one for one, to in made]


def _parts(
    name: str, kind: Type, types: Mapping[str, pa.DataType], cursor: Cursor, place: str
) -> dict[str, pa.Array]:
    """Read one value of each, as often as it has columns: those of them that are wanted."""
    begin = cursor.copy() if kind.extras else cursor
    made = decode(kind, types.get(name), cursor, place)
    found = {} if made is None else {name: made}
    for column, one in kind.parts(name)[1:]:
        if column in types:
            found[column] = decode(one, types[column], begin.copy(), place)
    return found


def _types(to: pa.DataType | None) -> Mapping[str, pa.DataType]:
    return {} if to is None else {one.name: one.type for one in to}


def _struct(
    found: Mapping[str, pa.Array], to: pa.DataType, total: int, is_null: pa.Array | None = None
) -> pa.Array:
    arrays = [
        found[one.name] if one.name in found else pa.nulls(total, one.type) for one in list(to)
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(to), mask=is_null)


@lru_cache(maxsize=1024)
def _default(fill: Fill, to: pa.DataType) -> pa.Array:
    """The default as an array of one value; null if no column can have it, such as the year 0."""
    source, start, end = Source.of(pa.array([encode(fill.type, fill.default)], pa.binary()))
    made = decode(fill.type, to, Cursor(source, np.zeros(1, np.int64), start, end))
    return pa.nulls(1, to) if source.problems else made


def _record(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    arrays = decode_fields(kind, () if to is None else list(to), cursor, place)
    return None if to is None else pa.StructArray.from_arrays(arrays, fields=list(to))


def _only(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    found = _parts(kind.members[0], kind.inner[0], _types(to), cursor, place)
    return None if to is None else _struct(found, to, len(cursor))


def _union(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    which = cursor.varint(place)
    bad = (which < 0) | (which >= len(kind.inner))
    if bad.any():
        cursor.refuse(bad, NO_BRANCH.format(len(kind.inner)), place)
        which = np.where(bad, -1, which)
    parts: list[pa.Array] = []
    places: list[Longs] = []
    members: dict[str, pa.Array] = {}
    for index, branch in enumerate(kind.inner):
        rows = np.flatnonzero(which == index)
        if branch.kind == "null" or not len(rows):
            continue
        part = cursor.subset(rows)
        if kind.members and kind.members[index]:
            made = _parts(kind.members[index], branch, _types(to), part, place)
            members |= {name: _scattered([one], [rows], len(cursor)) for name, one in made.items()}
        else:
            is_read = not kind.members and index not in kind.skipped
            own = decode(branch, to if is_read else None, part, place)
            parts += [] if own is None else [own]
            places += [] if own is None else [rows]
        cursor.join(rows, part)
    if to is None:
        return None
    if kind.members:
        is_null = np.isin(which, [-1, *(i for i, name in enumerate(kind.members) if not name)])
        return _struct(members, to, len(cursor), pa.array(is_null))
    return _scattered(parts, places, len(cursor)) if parts else pa.nulls(len(cursor), to)


def _scattered(parts: list[pa.Array], places: list[Longs], total: int) -> pa.Array:
    """Values where they belong; null elsewhere."""
    whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    if len(whole) == total and len(parts) == 1:
        return whole
    sources = np.full(total, -1, np.int64)
    sources[np.concatenate(places)] = np.arange(len(whole))
    return whole.take(pa.array(sources, mask=sources < 0))


def _array(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    (item,) = kind.inner
    inner = None if to is None else to.value_type
    found = Items(cursor, ((item, inner),), decode, place)
    found.read()
    if to is None:
        return None
    (values,) = found.values()
    return pa.ListArray.from_arrays(_offsets(found.counts()), values, type=to)


def _map(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    (value,) = kind.inner
    key_type, inner = (None, None) if to is None else (pa.string(), to.item_type)
    found = Items(cursor, ((_KEY, key_type), (value, inner)), decode, place)
    found.read()
    if to is None:
        return None
    keys, values = found.values()
    counts = found.counts()
    last = _last_of_each_key(keys, np.repeat(np.arange(len(cursor)), counts))
    if last is not None:
        counts = np.bincount(np.repeat(np.arange(len(cursor)), counts)[last], minlength=len(counts))
        keys, values = keys.take(pa.array(last)), values.take(pa.array(last))
    return pa.MapArray.from_arrays(_offsets(counts), keys.cast(to.key_type), values, type=to)


def _last_of_each_key(keys: pa.Array, parents: Longs) -> Longs | None:
    """The entries that count where a map has a key twice; None if none has."""
    if not len(keys):
        return None
    encoded = keys.dictionary_encode()
    pairs = parents * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
    unique, places = np.unique(pairs[::-1], return_index=True)
    return None if len(unique) == len(pairs) else np.sort(len(pairs) - 1 - places)


def _offsets(counts: Longs) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))


_NESTED: Mapping[str, Callable[[Type, pa.DataType | None, Cursor, str], pa.Array | None]] = {
    "record": _record,
    "only": _only,
    "union": _union,
    "array": _array,
    "map": _map,
}
