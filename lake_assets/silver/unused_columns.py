"""Columns of silver that nothing makes any more: which they are, and their end.

Such columns were made by messages that no row ever had, or have a name that a field has no more. A
rebuild of everything drops them before it derives rows, since they keep rows out whose own columns
do not go with them, and once more when all rows are under their newest names.
"""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files, columns_of_file, read_file
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.widen import drop_columns
from lake_assets.errors import StreamsLockedError
from lake_assets.formats.schema_merge import Mismatch, merge
from lake_assets.model.flows import origin_of
from lake_assets.model.tables import TableRef
from lake_assets.silver.demux import Demux
from lake_assets.silver.rows import decoded_part
from lake_assets.state.files import streams_lock

_LOG = logging.getLogger(__name__)


def drop_unused(demux: Demux, state_dir: Path) -> list[str]:
    """Drop the columns of a feed's silver that hold no value and that no row's message makes.

    Whoever streams meanwhile would write them again, so they stay while the streams run; that is
    logged. What is dropped `demux` forgets.

    Returns:
        The columns that were dropped.

    Raises:
        RegistryError: the registry has no answer, or no version that makes columns.
        CommitConflictError: another process keeps changing a table.
        LakeError: the lake cannot be written.
    """
    committer = demux.context.committer
    unused = _unused(demux)
    if not unused:
        return []
    try:
        with streams_lock(state_dir):
            unused = _unused(demux)  # a stream that has ended since may have written values
            for table in committer.opened(_tables(demux)):
                drop_columns(committer, table, unused)
    except StreamsLockedError:
        _LOG.warning(
            "silver of feed %r has columns that hold nothing and that no row's message makes: %s. "
            "To drop them, stop the streams and run `lake-assets rebuild silver` again",
            demux.feed.feed,
            ", ".join(unused),
            extra={"feed": demux.feed.feed},
        )
        return []
    told = "silver of feed %r: dropped columns %s"
    _LOG.info(told, demux.feed.feed, ", ".join(unused), extra={"feed": demux.feed.feed})
    demux.forget()
    return unused


def _tables(demux: Demux) -> list[TableRef]:
    return [demux.feed.silver_table(key) for key in keys_of(demux.context.lake, demux.feed)]


def _unused(demux: Demux) -> list[str]:
    tables = demux.context.committer.opened(_tables(demux))
    origin = origin_of(demux.feed)
    schemas = (pa.schema(handle.schema().to_arrow()) for handle in tables.values())
    have = (decoded_part(schema, origin) for schema in schemas)
    splits = {name for handle in tables.values() for name in handle.metadata().partition_columns}
    unused = [name for name in unmade(have, demux.made()) if name not in splits]
    for table, handle in tables.items():
        log = log_of(demux.context.lake, table)
        for file in active_files(handle):
            if not unused:
                return []  # and no further file is looked into
            unused = without_values(log, file, unused)
    return unused


def unmade(have: Iterable[pa.Schema], made: Sequence[pa.Schema]) -> list[str]:
    """Columns of tables that no message makes, or that do not go with what some message makes.

    Args:
        have: the decoded columns of tables.
        made: the columns of each message that rows may have.
    """
    names: dict[str, None] = {}
    for table in have:
        for field in table:
            column = pa.schema([field])
            same = [pa.schema([own.field(field.name)]) for own in made if field.name in own.names]
            if not same or any(isinstance(merge(column, own), Mismatch) for own in same):
                names[field.name] = None
    return list(names)


def without_values(log: TableLog, file: DataFile, names: list[str]) -> list[str]:
    """Those of the columns that are null in all rows of a data file, or not in it."""
    columns = columns_of_file(log, file)
    there = [name for name in names if name in columns]
    if not there:
        return names
    rows = read_file(log, file, there)
    return [n for n in names if n not in there or rows[n].null_count == rows.num_rows]
