"""A view's tables, and what their rows are called: keys of rows, and who they are for receivers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.catalog import keys_found
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.sinks import CHANGE
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.sinks.base import IDENTITY
from lake_assets.sinks.json_values import values_of_column
from lake_assets.sinks.row_hashes import as_bytes, hash_rows
from lake_assets.storage.store import Store

_LONGEST_KEY = 200
"""Characters of a row's key that are told as they are; longer ones by their hash."""


def tables_of_view(lake: Store, feed: Feed, view: GoldView) -> dict[TableRef, str]:
    """The tables that a view has or may get, in a fixed order, each with its key.

    Raises:
        LakeError: a log cannot be read.
    """
    scopes = view.scopes(keys_found(lake, feed))
    found = {feed.gold_table(view, scope): scope for scope in scopes}
    return {table: found[table] for table in sorted(found)}


def with_key(rows: pa.RecordBatch, scope: str, name: str | None) -> pa.RecordBatch:
    """Rows of a view's table with its key before their columns, unless they have such a column."""
    names = [one.lower() for one in rows.schema.names]
    if name is None or scope == EVERY_KEY or name.lower() in names:
        return rows
    key = pa.repeat(scope, rows.num_rows)
    columns = [key, *rows.columns]
    return pa.RecordBatch.from_arrays(columns, names=[name, *rows.schema.names])


def with_change(rows: pa.RecordBatch, change: str, *, deletes: bool) -> pa.RecordBatch:
    """Rows with what became of them after their columns.

    A column of theirs by that name stays, as a table may have that is made of changes, unless the
    sink deletes: then it is the sink's to say.
    """
    own = [name for name in rows.schema.names if name.lower() == CHANGE]
    if own and not deletes:
        return rows
    return rows.drop_columns(own).append_column(CHANGE, pa.repeat(change, rows.num_rows))


def key_texts(rows: pa.RecordBatch, key: Sequence[str]) -> list[str]:
    """The keys of rows as texts: an array of JSON, or a hash.

    The latter of long ones, of whole rows, and of numbers that JSON has not.
    """
    hashes = as_bytes(hash_rows(rows, key or rows.schema.names))
    if not key:
        return [one.hex() for one in hashes]
    values = zip(*(values_of_column(rows[name]) for name in key), strict=True)
    texts = (json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in values)
    has_text = np.ones(rows.num_rows, np.bool_)
    for column in (rows[name] for name in key):
        if pa.types.is_floating(column.type):  # JSON has null for what is no number
            has_text &= np.asarray(pc.is_finite(column).fill_null(fill_value=True))
    return [
        text if is_told and len(text) <= _LONGEST_KEY else digest.hex()
        for text, digest, is_told in zip(texts, hashes, has_text, strict=True)
    ]


def key_in(source: str) -> str:
    """The key's text in a row's source, as `Revision.identity` makes it."""
    return source.partition("/")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """What rows of one version of a table are told by, beside their own keys."""

    feed: str
    table: TableRef
    table_id: str
    version: int
    time_us: int
    """Of the batch that sends them."""

    def identity(self, keys: Sequence[str]) -> pa.Table:
        """Which rows they are (`IDENTITY`), by their keys' texts.

        Another version, or the same number of another table, makes other rows of them: what comes
        back to values that it had before is no repetition.
        """
        count = len(keys)
        parts: Mapping[str, pa.Array] = {
            "table": pa.repeat(self.table.relative, count),
            "feed": pa.repeat(self.feed, count),
            "source": pa.array([f"{self.table_id}/{key}" for key in keys], pa.string()),
            "partition": pa.repeat(0, count),
            "offset": pa.repeat(self.version, count),
            "source_time": pa.repeat(self.time_us, count),
            "ordinal": pa.repeat(0, count),
        }
        columns = [parts[field.name].cast(field.type) for field in IDENTITY]
        return pa.Table.from_arrays(columns, schema=IDENTITY)
