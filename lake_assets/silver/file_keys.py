"""What duplicates are told by, of the rows of one file: keys as hashes, times, origins. Pure.

Computed in the tasks, where the rows are, or on the driver from a file that is there.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.origins import FEED, OriginColumns, Place
from lake_assets.silver.key_hashes import hash_keys
from lake_assets.silver.keyed_rows import Ints

_PLACES, _KINDS = b"places", b"kinds"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyColumns:
    """Silver's columns that tell."""

    key: tuple[str, ...]
    time: str
    origin: OriginColumns
    owner: str = ""
    """The feed whose the tables are: rows that name no other are its."""

    @property
    def names(self) -> tuple[str, ...]:
        """All of them; tables that one feed alone has filled lack the last one."""
        return (*self.key, self.time, *self.origin.identity, FEED)


def keys_in(
    rows: pa.Table, columns: KeyColumns, kinds: Mapping[str, pa.DataType] | None = None
) -> pa.Table:
    """Of the rows that have a key and a time: `high`, `low`, `time`, `offset`, `place`, `number`.

    Args:
        rows: of silver; columns of the key and the time may be missing.
        columns: which of theirs tell.
        kinds: types as which the key's columns are compared; those that they have if None.
    """
    kinds = kinds if kinds is not None else kinds_of(rows.schema, columns)
    hashes = hash_keys([_as_kind(rows, name, kind) for name, kind in kinds.items()])
    times = _micros(rows, columns.time)
    known = np.flatnonzero(hashes.is_known & (times > 0))
    codes, places = _places(rows, columns)
    made = {
        "high": hashes.high[known],
        "low": hashes.low[known],
        "time": times[known],
        "offset": rows[columns.origin.offset].to_numpy().astype(np.int64)[known],
        "place": codes[known],
        "number": known.astype(np.int64),
    }
    told = {_PLACES: json.dumps(places), _KINDS: _in_words(kinds)}
    return pa.table(made).replace_schema_metadata(told)


def kinds_of(schema: pa.Schema, columns: KeyColumns) -> dict[str, pa.DataType]:
    """By column of the key its type; null of one that is not there."""
    return {n: schema.field(n).type if n in schema.names else pa.null() for n in columns.key}


def places_of(keys: pa.Table) -> list[Place]:
    """By number in `place`, a source and its partition."""
    found = json.loads(keys.schema.metadata[_PLACES])
    return [(str(name), int(partition)) for name, partition in found]


def is_of(keys: pa.Table, kinds: Mapping[str, pa.DataType]) -> bool:
    """Whether keys were compared as values of these types."""
    return bool(keys.schema.metadata[_KINDS].decode() == _in_words(kinds))


def _in_words(kinds: Mapping[str, pa.DataType]) -> str:
    return json.dumps({name: str(kind) for name, kind in kinds.items()})


def feed_and_name(place: str, owner: str) -> tuple[str, str]:
    """Whose row it is, and its source's name, of what a place is called here."""
    feed, mark, name = place.partition(_OF_ANOTHER)
    return (feed, name) if mark else (owner, place)


_OF_ANOTHER = "\x1f"
"""Between the feed and the source's name, of rows of a feed that is not the tables' owner."""


def _names(rows: pa.Table, columns: KeyColumns) -> pa.ChunkedArray:
    """What rows' sources are called: two feeds may have sources of one name."""
    names = rows[columns.origin.name]
    if FEED not in rows.column_names:
        return names
    feeds = rows[FEED].cast(pa.string())
    is_other = pc.fill_null(pc.not_equal(feeds, columns.owner), fill_value=False)
    if not pc.any(is_other).as_py():
        return names
    return pc.if_else(is_other, pc.binary_join_element_wise(feeds, names, _OF_ANOTHER), names)


def _places(rows: pa.Table, columns: KeyColumns) -> tuple[npt.NDArray[np.int32], list[Place]]:
    """Each row's source and partition as a number, and what the numbers stand for."""
    origin = columns.origin
    names = _names(rows, columns).combine_chunks().dictionary_encode()
    codes = names.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if origin.partition is not None:
        codes = (codes << 32) | rows[origin.partition].to_numpy().astype(np.int64)
    if len(codes) and (codes == codes[0]).all():
        pairs, at = codes[:1], np.zeros(len(codes), np.intp)
    else:
        pairs, at = np.unique(codes, return_inverse=True)
    if origin.partition is None:
        pairs = pairs << 32
    places = [(names.dictionary[p >> 32].as_py(), p & 0xFFFFFFFF) for p in pairs.tolist()]
    return at.reshape(-1).astype(np.int32), places


def _as_kind(rows: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    if name not in rows.column_names:
        return pa.chunked_array([pa.nulls(rows.num_rows, kind)])
    column = rows[name]
    return column if column.type == kind else column.cast(kind, safe=False)


def _micros(rows: pa.Table, name: str) -> Ints:
    """When each row is from; 0 of those that do not tell."""
    if name not in rows.column_names:
        return np.zeros(rows.num_rows, np.int64)
    column = rows[name]
    if pa.types.is_string(column.type):  # of a partition's name
        column = column.cast(pa.timestamp("us"))
    zone = column.type.tz
    whole = column.cast(pa.timestamp("us", tz=zone), safe=False).cast(pa.int64())
    times: Ints = pc.fill_null(whole, 0).to_numpy()
    return times
