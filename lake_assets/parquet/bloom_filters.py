"""Bloom filters of Parquet files: of which columns a writer makes some, and what one rules out.

pyarrow writes them and tells where they are, and reads none. Format: split-block filters of
https://parquet.apache.org/docs/file-format/bloomfilter/, with XXH64 of a value's plain bytes.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from xxhash import xxh64_intdigest

from lake_assets.storage.store import Readable

_WRONG = 0.01
"""Share of values that are not there which a filter does not rule out: 10 bits a value."""

_MOST_VALUES = 1 << 20
"""That a filter is made for; it is as large as they ask, 1.3 MB at most."""

_WHOLE = {"INT32": 4, "INT64": 8}
"""Physical types of whole numbers, and their bytes."""

_SALTS = np.array(
    [
        0x47B6137B,
        0x44974D91,
        0x8824AD5B,
        0xA2B7289D,
        0x705495C7,
        0x2DF1424B,
        0x9EFC4947,
        0x5C6BFB31,
    ],
    dtype=np.uint32,
)
"""Of the format, one for each word of a block."""

_WORDS = len(_SALTS)

_SEVEN_BITS = 0x7F


_DECLARED = b"lake_assets.bloom_filter"
"""In a column's metadata, which no file keeps: it is to have filters, for so many values."""


def with_bloom_filters(schema: pa.Schema, columns: Collection[str], rows: int) -> pa.Schema:
    """A schema by which `parquet.data_file` writes filters of some columns.

    Args:
        schema: of the rows.
        columns: that are to have filters; those that the schema lacks, or whose type no filter
            tells, go without.
        rows: that a group of rows may have, at most.
    """
    most = str(max(1, min(rows, _MOST_VALUES)))
    return pa.schema(
        [
            field.with_metadata({_DECLARED: most})
            if field.name in columns and _takes(field.type)
            else field
            for field in schema
        ]
    )


def bloom_options(schema: pa.Schema) -> dict[str, dict[str, float]] | None:
    """What `pyarrow.parquet.ParquetWriter` is told as `bloom_filter_options`."""
    told = {field.name: (field.metadata or {}).get(_DECLARED) for field in schema}
    return {n: {"ndv": int(most), "fpp": _WRONG} for n, most in told.items() if most} or None


def bloomed_columns(footer: pq.FileMetaData) -> tuple[str, ...]:
    """Columns of a file that have filters in some group of rows."""
    found: dict[str, None] = {}
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.bloom_filter_offset is not None:
                found[chunk.path_in_schema] = None
    return tuple(found)


def rules_out(source: Readable, chunk: pq.ColumnChunkMetaData, values: pa.Array) -> bool:
    """Whether a group of rows has none of the values in a column, by the filter if it has one.

    Args:
        source: the file, as a store opens it.
        chunk: the column in the group.
        values: of the column's type, without nulls.
    """
    if chunk.bloom_filter_offset is None or chunk.bloom_filter_length is None:
        return False
    plain = _plain(values, chunk.physical_type)
    if plain is None:
        return False
    words = _words(_read(source, chunk.bloom_filter_offset, chunk.bloom_filter_length))
    return words is not None and not _may_have(words, plain)


def _read(source: Readable, start: int, length: int) -> bytes:
    if isinstance(source, str):
        with Path(source).open("rb") as stream:
            return _read(stream, start, length)
    source.seek(start)
    return source.read(length)


def _takes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _plain(values: pa.Array, physical: str) -> Iterable[bytes] | None:
    """Bytes of values as a file has them without encoding; None of types that are not known."""
    if physical in _WHOLE and pa.types.is_integer(values.type):
        size = _WHOLE[physical]
        limit = 1 << 8 * size
        return (int(value % limit).to_bytes(size, "little") for value in values.to_pylist())
    if physical == "BYTE_ARRAY":
        return (one.encode() if isinstance(one, str) else one for one in values.to_pylist())
    return None


def _words(filter_: bytes) -> npt.NDArray[np.uint32] | None:
    """The blocks of a filter, each of eight words; None if it is of another kind."""
    for size in range(len(filter_) - len(_header(0)) - 4, len(filter_)):
        header = _header(size)
        if filter_.startswith(header) and len(filter_) == len(header) + size:
            return np.frombuffer(filter_, dtype="<u4", offset=len(header)).reshape(-1, _WORDS)
    return None


def _header(size: int) -> bytes:
    """Of the only kind that there is so far, in Thrift's compact protocol."""
    number, rest = bytearray(), size << 1  # zigzag
    while rest > _SEVEN_BITS:
        number.append(rest & _SEVEN_BITS | 0x80)
        rest >>= 7
    number.append(rest)
    only_choice = b"\x1c\x1c\x00\x00"  # SPLIT BLOCK, XXHASH, UNCOMPRESSED
    return b"\x15" + bytes(number) + 3 * only_choice + b"\x00"


def _may_have(words: npt.NDArray[np.uint32], plain: Iterable[bytes]) -> bool:
    hashes = np.fromiter((xxh64_intdigest(one) for one in plain), dtype=np.uint64)
    blocks = ((hashes >> np.uint64(32)) * np.uint64(len(words))) >> np.uint64(32)
    low = hashes.astype(np.uint32)
    bits = np.uint32(1) << ((low[:, None] * _SALTS) >> np.uint32(27))
    return bool(((words[blocks.astype(np.int64)] & bits) != 0).all(axis=1).any())
