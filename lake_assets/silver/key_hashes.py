"""Keys of rows as 128 bits each: equal where Spark's `=` says that all their columns are.

Of a table with one column of whole numbers or times they are exact; else two keys meet with a
chance of 1 to 10^20 among a thousand million. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd  # type: ignore[import-untyped]  # comes with PySpark
import pyarrow as pa
import pyarrow.compute as pc

Words: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_HASH_KEYS = ("lake_assets:high", "lake_assets: low")
"""Of SipHash, 16 characters each: two hashes of 64 bits that know nothing of each other."""

_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
"""Odd numbers without a pattern in their bits, one a half."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hashes:
    """The keys of some rows."""

    high: Words
    low: Words
    is_known: Mask
    """False of a row with a null in its key, which equals no other."""


def can_be_key(kind: pa.DataType) -> bool:
    """Whether a column of this type may be part of a key."""
    types = pa.types
    tests = (
        types.is_boolean,
        types.is_integer,
        types.is_floating,
        types.is_decimal,
        types.is_temporal,
        types.is_string,
        types.is_large_string,
        types.is_binary,
        types.is_large_binary,
        types.is_fixed_size_binary,
        types.is_null,
    )
    return any(test(kind) for test in tests)


def hash_keys(columns: Sequence[pa.Array | pa.ChunkedArray]) -> Hashes:
    """The keys of rows, by columns as `can_be_key` has them; only those of the same types go."""
    rows = len(columns[0])
    is_known = np.ones(rows, dtype=np.bool_)
    halves = [np.zeros(rows, np.uint64), np.zeros(rows, np.uint64)]
    for column in columns:
        is_known &= pc.is_valid(column).to_numpy(zero_copy_only=False)
        for half, words in enumerate(_words(column)):
            halves[half] = _mixed(halves[half] * np.uint64(_ODD[1 - half]) + _mixed(words))
    return Hashes(high=halves[0], low=halves[1], is_known=is_known)


def salted(words: Words, table: int) -> Words:
    """Halves of keys made a table's own: equal keys of two tables are not equal."""
    return _mixed(words ^ _mixed(np.array([table + 1], np.uint64)))


def _words(column: pa.Array | pa.ChunkedArray) -> tuple[Words, Words]:
    """Two words a value, of which nulls have any."""
    kind = column.type
    if pa.types.is_null(kind):
        none = np.zeros(len(column), np.uint64)
        return none, none
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.string()), pa.string()
    if not (pa.types.is_primitive(kind) or pa.types.is_boolean(kind)):
        return _of_texts(column)
    if pa.types.is_floating(kind):
        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        words = np.where(np.isnan(values), np.nan, values).view(np.uint64)
    else:
        whole = pa.uint64() if kind == pa.uint64() else pa.int64()
        narrow = pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else whole
        filled = column.cast(narrow).cast(whole).fill_null(0)
        words = filled.to_numpy(zero_copy_only=False).view(np.uint64)
    # Each half alone tells any two words apart: what mixes them gives no two the same.
    return words, words ^ np.uint64(_ODD[0])


def _of_texts(column: pa.Array | pa.ChunkedArray) -> tuple[Words, Words]:
    texts = pc.fill_null(column, b"" if _is_bytes(column.type) else "")
    values = texts.to_numpy() if isinstance(texts, pa.ChunkedArray) else _as_objects(texts)
    high, low = (pd.util.hash_array(values, hash_key=key, categorize=False) for key in _HASH_KEYS)
    return high, low


def _is_bytes(kind: pa.DataType) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def _as_objects(texts: pa.Array) -> npt.NDArray[np.object_]:
    objects: npt.NDArray[np.object_] = texts.to_numpy(zero_copy_only=False)
    return objects


def _mixed(words: Words) -> Words:
    """Each word's bits spread over all of them; no two words give the same (SplitMix64's end)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed
