"""Columns that are computed over decoded ones, by `select` or a function: what tables make of them.

What is wrong with them is told by whoever computes them.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa

from lake_assets.formats.schema_merge import Mismatch, in_words, merge
from lake_assets.model.payload import Payload
from lake_assets.model.routes import KEY_TYPES


def with_computed(
    payload: Payload, have: pa.Schema, made: Iterable[pa.Field], computed: Collection[str]
) -> pa.Schema | Mismatch:
    """Columns that hold the tables' rows and new ones, or the first that does not.

    Decoded ones get wider as their format lets them, computed ones only where the values stay.

    Args:
        payload: what is declared of the format.
        have: the tables' columns.
        made: those of new rows.
        computed: names of those among both that are computed.
    """
    made = pa.schema(list(made))
    merged = merge(_among(have, computed), _among(made, computed))
    if isinstance(merged, Mismatch):
        return merged
    return merge(have, made, rounds=payload.infers, promotes=payload.promotes)


def kind_without_keys(kind: pa.DataType) -> str:
    """In words, a type whose values make no keys; empty of one whose values do.

    Bytes do: those of protobuf are read as text.
    """
    words = in_words(kind)
    return "" if words in {*KEY_TYPES, "binary"} else words


def _among(columns: pa.Schema, names: Collection[str]) -> pa.Schema:
    return pa.schema([one for one in columns if one.name in names])
