"""A feed's silver under former names: how far its rows are, and how it leaves the lake.

That its rows are derived under the new names meanwhile is `streams.reprocess`' work.
"""

from collections.abc import Mapping

import pyarrow as pa

from lake_assets.delta.data_files import active_files
from lake_assets.delta.renamed_tables import drop_tables, superseded_tables
from lake_assets.delta.source_offsets import Offsets, furthest, offsets_of_rows
from lake_assets.delta.table_layout import made_columns, without_made
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_owners import is_there, owner_of
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef, quarantine_of
from lake_assets.silver.demux_position import read_position
from lake_assets.spark.lake_context import LakeContext


def offsets_of_silver(
    context: LakeContext, feed: Feed, renamed: Mapping[TableRef, TableRef]
) -> Offsets:
    """How far silver is, by the rows of its tables of former names and by what demux recorded.

    Raises:
        LakeError: a table cannot be read.
    """
    positions: list[Offsets] = []
    for table, handle in context.committer.opened(list(renamed)).items():
        log = log_of(context.lake, table)
        # Rows of a file that is lost are not lost with the table.
        files = [f for f in active_files(handle) if context.lake.stat(log.data_file(f.path))]
        positions.append(offsets_of_rows(log, files, feed.source.origin.in_silver))
    for handle in context.committer.opened([quarantine_of(feed.feed)]).values():
        position = read_position(handle, feed.feed)
        if position is not None:
            positions.append(position.offsets)
    return furthest(positions)


def drop_superseded(context: LakeContext, feed: Feed, renamed: Mapping[TableRef, TableRef]) -> None:
    """Drop the tables of former names, once all of silver was derived under the new ones.

    A key that bronze gave no row gets an empty table, as any rebuild of all keys leaves it.

    Raises:
        LakeError: a table cannot be read or created.
        OSError: a folder cannot be deleted.
    """
    lake, committer = context.lake, context.committer
    lacking = {table: now for table, now in renamed.items() if not is_there(lake, now)}
    owners = {now: owner for table, now in lacking.items() if (owner := owner_of(lake, table))}
    columns: dict[TableRef, pa.Schema] = {
        lacking[table]: schema for table, schema in committer.columns(lacking).items()
    }
    split = {table: feed.layout_in(table).partition_by for table in columns}
    laid_out = {
        table: pa.schema([*without_made(schema), *made_columns(split[table])])
        for table, schema in columns.items()
    }
    names = {table: [column.name for column in by] for table, by in split.items()}
    committer.create(laid_out, partition_by=names, owners=owners)
    drop_tables(lake, superseded_tables(lake, renamed))
