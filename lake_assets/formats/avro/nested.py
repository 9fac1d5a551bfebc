"""Records, unions, arrays and maps of many rows at once: from bytes to Arrow arrays.

A field is read in all rows before the next one is, so the cost of a step is shared by the rows.
"""

from collections.abc import Sequence
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
    if kind.kind == "record":
        arrays = decode_fields(kind, () if to is None else list(to), cursor, place)
        if to is None:
            return None
        return pa.StructArray.from_arrays(arrays, fields=list(to))
    if kind.kind == "union":
        return _union(kind, to, cursor, place)
    if kind.kind == "array":
        return _array(kind, to, cursor, place)
    if kind.kind == "map":
        return _map(kind, to, cursor, place)
    return leaf(kind, to, cursor, place)


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
    found: dict[str, pa.Array | None] = {}
    for one in kind.fields:
        below = f"{place}.{one.name}" if place else one.name
        found[one.column] = decode(one.type, types.get(one.column), cursor, below)
    zeros = pa.array(np.zeros(len(cursor), np.int64))
    for fill in kind.fills:
        if fill.column in types:
            found[fill.column] = _default(fill, types[fill.column]).take(zeros)
    made = ((found.get(column.name), column.type) for column in columns)
    return [pa.nulls(len(cursor), to) if one is None else one for one, to in made]


@lru_cache(maxsize=1024)
def _default(fill: Fill, to: pa.DataType) -> pa.Array:
    """The default as an array of one value; null if no column can have it, such as the year 0."""
    source, start, end = Source.of(pa.array([encode(fill.type, fill.default)], pa.binary()))
    made = decode(fill.type, to, Cursor(source, np.zeros(1, np.int64), start, end))
    return pa.nulls(1, to) if source.problems else made


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
        member = kind.members[index] if kind.members else ""
        wanted = to.field(member).type if to is not None and _has(to, member) else None
        own = wanted if member else to
        part = cursor.subset(rows)
        made = decode(branch, own, part, place)
        cursor.join(rows, part)
        if made is not None and member:
            members[member] = _scattered([made], [rows], len(cursor))
        elif made is not None:
            parts.append(made)
            places.append(rows)
    if to is None:
        return None
    if kind.members:
        is_null = np.isin(which, [i for i, one in enumerate(kind.inner) if one.kind == "null"])
        arrays = [
            members[field.name] if field.name in members else pa.nulls(len(cursor), field.type)
            for field in to
        ]
        mask = pa.array(is_null | (which < 0))
        return pa.StructArray.from_arrays(arrays, fields=list(to), mask=mask)
    return _scattered(parts, places, len(cursor)) if parts else pa.nulls(len(cursor), to)


def _has(to: pa.DataType, member: str) -> bool:
    return bool(member) and to.get_field_index(member) >= 0


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
