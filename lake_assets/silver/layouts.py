"""The columns and partitions of a feed's silver tables, and whether a table is laid out so.

Changing a table that is there is `delta.relayout`'s.
"""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.log_history import open_table
from lake_assets.delta.renamed_columns import Renames, marked
from lake_assets.delta.table_layout import in_words_of, layout_of, made_columns, split_by
from lake_assets.delta.written_columns import written_for
from lake_assets.errors import FeedError, LakeError
from lake_assets.formats.schema_merge import in_words
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.layouts import PartitionColumn
from lake_assets.model.origins import OriginColumns
from lake_assets.model.tables import Layer, TableRef
from lake_assets.parquet.partitioning import can_partition, days
from lake_assets.parquet.writer import Layout
from lake_assets.silver.rows import silver_schema
from lake_assets.storage.store import Store


def with_partition_sources(feed: Feed, columns: pa.Schema, unused: pa.Schema) -> pa.Schema:
    """The decoded columns, with those among the unused ones that tables are partitioned by."""
    names = [column.source for by in feed.partitions for column in by]
    missing = dict.fromkeys(n for n in names if n not in columns.names and n in unused.names)
    return pa.schema([*columns, *(unused.field(name) for name in missing)])


def table_columns(
    decoded: pa.Schema, origin: OriginColumns, partition_by: Sequence[PartitionColumn]
) -> pa.Schema:
    """A silver table's columns: decoded ones, origin, and days that it is partitioned by."""
    return pa.schema([*silver_schema(decoded, origin), *made_columns(partition_by)])


def tables_columns(
    feed: Feed, keys: Sequence[str], decoded: Sequence[pa.Schema], renames: Renames
) -> dict[TableRef, pa.Schema]:
    """As `table_columns` of each key; those of keys of one layout and columns are one schema.

    Raises:
        FeedError: a table cannot be partitioned as the feed says.
    """
    made: dict[tuple[tuple[PartitionColumn, ...], tuple[str, ...]], pa.Schema] = {}
    found = {}
    for key, own in zip(keys, decoded, strict=True):
        by = feed.layout_of(key).partition_by
        alike = (by, tuple(own.names))
        if alike not in made:
            ensure_possible(feed, by, own)
            made[alike] = marked(table_columns(own, origin_of(feed), by), renames)
        found[feed.silver_table(key)] = made[alike]
    return found


def partitions_of(feed: Feed, keys: Iterable[str]) -> dict[TableRef, list[str]]:
    """What the keys' tables are partitioned by."""
    return {
        feed.silver_table(key): [column.name for column in feed.layout_of(key).partition_by]
        for key in keys
    }


def split_of(feed: Feed, table: TableRef, columns: Iterable[pa.Schema] = ()) -> Mapping[str, str]:
    """What a commit of new rows says of their layout: the table may have another one by then.

    Args:
        feed: whose rows.
        table: gets them.
        columns: of its new files, if others may change the table's.
    """
    if table.layer is not Layer.SILVER:
        return {}
    return {**split_by(feed.layout_in(table).partition_by), **written_for(columns)}


def write_layout(
    decoded: pa.Schema, origin: OriginColumns, partition_by: Sequence[PartitionColumn]
) -> Layout:
    """How rows that were decoded are written to such a table."""
    sources = {one.name: one.source for one in partition_by if one.is_day}
    schema = table_columns(decoded, origin, partition_by)
    return Layout(
        schema=schema,
        sources=tuple(sources.get(name, name) for name in schema.names),
        parsers=dict.fromkeys(sources, days),
        partition_by=tuple(one.name for one in partition_by),
    )


def ensure_possible(
    feed: Feed, partition_by: Iterable[PartitionColumn], decoded: pa.Schema
) -> None:
    """Make sure that rows have the columns that a table is partitioned by.

    Raises:
        FeedError: they have not, or such that cannot be partitioned by.
    """
    thing = f"partition_by of feed {feed.feed!r}"
    taken = {name.lower(): name for name in decoded.names}
    for column in partition_by:
        if column.source not in decoded.names:
            fact = f"names the column {column.source}, which the feed's schema does not have"
            raise FeedError(thing, fact, f"It has {', '.join(decoded.names)}")
        kind = decoded.field(column.source).type
        if column.is_day and not pa.types.is_timestamp(kind):
            fact = f"takes the day of {column.source}, which is {in_words(kind)} and no timestamp"
            raise FeedError(thing, fact, "Name a timestamp, or partition by the column itself")
        if column.is_day and column.name.lower() in taken:
            fact = f"makes a column {column.name}, and rows have one of that name"
            step = f"Give it another name: {{other_name: {column.expression}}}"
            raise FeedError(thing, fact, step)
        if not column.is_day and not can_partition(kind):
            fact = f"names {column.source}, which is {in_words(kind)}"
            step = "Text, whole numbers, booleans, dates and date(timestamp) can partition a table"
            raise FeedError(thing, fact, step)


def misfit(has: str, wanted: Sequence[PartitionColumn]) -> str:
    """In words, how a table is laid out otherwise than a feed says; empty if it is as wanted.

    Args:
        has: what the table says of its layout (`delta.table_layout`).
        wanted: what the feed says.
    """
    says = in_words_of(wanted)
    if has == says:
        return ""
    return f"is partitioned by {has or 'nothing'}, and the feed says {says or 'nothing'}"


def misfits(feed: Feed, tables: Mapping[TableRef, DeltaTable]) -> dict[TableRef, str]:
    """By opened silver table that is laid out otherwise than the feed says, in words how."""
    found = {
        table: misfit(layout_of(handle), feed.layout_in(table).partition_by)
        for table, handle in tables.items()
    }
    return {table: fact for table, fact in found.items() if fact}


def misfits_in(lake: Store, feed: Feed) -> dict[TableRef, str]:
    """As `misfits`, of the tables that a lake has.

    Raises:
        LakeError: a log cannot be read.
        DeltaError: deltalake cannot read one.
    """
    tables = [feed.silver_table(key) for key in keys_found(lake, feed)]
    opened = ((table, open_table(lake, table)) for table in tables)
    return misfits(feed, {table: handle for table, handle in opened if handle is not None})


def ensure_fits(feed: Feed, tables: Mapping[TableRef, DeltaTable]) -> None:
    """Refuse to write to tables that are laid out otherwise than the feed says.

    Raises:
        LakeError: one is.
    """
    for table, fact in misfits(feed, tables).items():
        raise LakeError(table.name, fact, RELAYOUT_STEP)


RELAYOUT_STEP = (
    "Stop the streams and run `lake-assets rebuild silver`, which lays it out so, or put "
    "`partition_by` back as it was"
)
"""What to do about a table of another layout."""
