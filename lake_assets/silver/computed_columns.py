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


START_AGAIN = "stop the streams, delete silver's tables, and run `lake-assets rebuild silver`"
"""What else can be done where columns do not go together: a rebuild alone keeps them."""


def misfit(found: Mismatch, made: str) -> str:
    """In words, how a column does not go with the tables'.

    Args:
        found: what does not.
        made: what gives it, before its type: `selected as`.
    """
    if found.is_name:
        return f"has a column {found.have}, from which {found.path} differs by case alone"
    return f"column {found.path} is {found.have}, and {made} {found.came}"


def kind_without_keys(kind: pa.DataType) -> str:
    """In words, a type whose values make no keys; empty of one whose values do.

    Bytes do: those of protobuf are read as text.
    """
    words = in_words(kind)
    return "" if words in {*KEY_TYPES, "binary"} else words


def _among(columns: pa.Schema, names: Collection[str]) -> pa.Schema:
    return pa.schema([one for one in columns if one.name in names])
