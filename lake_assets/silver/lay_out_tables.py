"""Silver's tables that the feed lays out otherwise than they are: found, and given its layout.

How a table is rewritten is `delta.relayout`'s. Only a rebuild does it, since it may take long.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.relayout import lay_out
from lake_assets.delta.renamed_columns import Renames
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.layouts import PartitionColumn
from lake_assets.model.tables import TableRef
from lake_assets.silver.demux import Demux
from lake_assets.silver.layouts import ensure_possible, misfits
from lake_assets.silver.rows import decoded_part
from lake_assets.state.files import streams_lock

_LOG = logging.getLogger(__name__)


def lay_out_tables(demux: Demux, state_dir: Path, keys: Sequence[str] | None) -> list[TableRef]:
    """Give tables the layout that the feed says, one after the other; those that have it stay.

    Args:
        demux: of the feed; nothing was derived by it yet.
        state_dir: of the lake.
        keys: only their tables; all by default.

    Returns:
        The tables that have another layout now.

    Raises:
        CommitConflictError: another process keeps changing a table.
        FeedError: rows have no such column, or none that can partition a table.
        LakeError: the lake cannot be read or written.
        RegistryError: the registry has no answer.
        StreamsLockedError: a table is to change, and the streams run: they would refuse it, or
            commit by the former layout.
        TableFeatureError: a table's features forbid it.
    """
    feed, committer = demux.feed, demux.context.committer
    chosen = keys_found(committer.store, feed) if keys is None else keys
    tables = [feed.silver_table(key) for key in chosen]
    if not misfits(feed, committer.opened(tables)):
        return []
    with streams_lock(state_dir):
        handles = committer.opened(tables)
        found, renames = misfits(feed, handles), _renames(demux)
        for table, fact in found.items():
            wanted = feed.layout_in(table).partition_by
            columns = pa.schema(handles[table].schema().to_arrow())
            more = _missing(demux, columns, wanted)
            _LOG.info("%s %s: it is laid out anew", table.name, fact, extra={"feed": feed.feed})
            lost = lay_out(committer, table, wanted, more, renames)
            if lost:
                text = "%s: %d empty texts, or days beyond the years 1 to 9999, are null by this"
                _LOG.warning(text, table.name, lost, extra={"feed": feed.feed})
    return list(found)


def _renames(demux: Demux) -> Renames:
    """Older names of columns, by all schemas that there are, whatever tables have."""
    nothing, route = pa.schema([]), demux.feed.route_columns
    return demux.format.plan(demux.schemas.newest(), nothing, route).renames


def _missing(demux: Demux, columns: pa.Schema, wanted: Sequence[PartitionColumn]) -> list[pa.Field]:
    """Columns that a table is to be partitioned by and does not have, since no row had them yet."""
    feed: Feed = demux.feed
    decoded = decoded_part(columns, origin_of(feed))
    made = [field for schema in demux.made() for field in schema]
    sources = dict.fromkeys(one.source for one in wanted if one.source not in decoded.names)
    missing = [next((f for f in made if f.name == name), None) for name in sources]
    more = [field for field in missing if field is not None]
    names = {column.name for column in wanted if column.is_day}
    own = [field for field in decoded if field.name not in names]
    ensure_possible(feed, wanted, pa.schema([*own, *more]))
    return more
