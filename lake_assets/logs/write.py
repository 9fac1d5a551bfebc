"""Writing the log tables: one commit a table for many entries, and the upkeep of what is there.

Each entry is in a table at most once: a commit carries the marks of its entries, and what is marked
already is left out.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.log_history import is_done
from lake_assets.delta.table_log import log_of
from lake_assets.logs.entries import SCHEMAS, Entry, table_of
from lake_assets.model.tables import GAPS, SCHEMA_LOG, TableRef
from lake_assets.parquet.writer import TABLE, Layout, Target, WritePlan, write_task
from lake_assets.settings.upkeep import LogSettings

if TYPE_CHECKING:
    # The doctor reads logs without Spark, whose import takes seconds.
    from lake_assets.spark.lake_context import LakeContext

_PROPERTIES = {
    # A commit every half minute: 20,000 log files a week, which whoever lists the folder pays for.
    "delta.logRetentionDuration": "interval 7 days",
    # Joined and deleted files stay for readers that began before; none of them takes a day.
    "delta.deletedFileRetentionDuration": "interval 1 days",
}

_LATE = timedelta(days=1)
"""How much too old an entry may get, so that files are rewritten once a day and not always."""


def append(context: "LakeContext", entries: Sequence[Entry]) -> None:
    """Add entries to their tables, which are created if need be.

    Raises:
        LakeError: the lake cannot be written; what was not added may be added again.
    """
    context.committer.create(SCHEMAS, properties=_PROPERTIES)
    context.committer.add_columns(SCHEMAS)  # a lake of an earlier release lacks some
    for table in SCHEMAS:
        handle = context.committer.fresh(table)
        new = _once([e for e in entries if e.mark is None or not is_done(handle, e.mark)])
        rows = [row for entry in new for row in entry.rows.get(table.name, ())]
        if rows:
            context.committer.append_marked(
                written(context, table, table_of(table, rows)), _newest_marks(new)
            )


def keep_up(context: "LakeContext", settings: LogSettings, now: datetime) -> None:
    """Delete entries that are too old, and join small files, where there is enough to do.

    Raises:
        LakeError: the lake cannot be written.
    """
    kept_since = now - timedelta(days=settings.keep_days)
    for table in SCHEMAS:
        handle = context.committer.fresh(table)
        oldest = _oldest(handle)
        is_late = oldest is not None and oldest < kept_since - _LATE
        if is_late:
            context.committer.delete(
                table, f"time < '{kept_since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}'"
            )
        is_scattered = len(handle.file_uris()) > settings.compact_above_files
        if is_scattered:
            context.committer.compact(table)
        if is_late or is_scattered:
            context.committer.vacuum(table)
    for table in (GAPS, SCHEMA_LOG):
        _join(context, settings, table)


def _join(context: "LakeContext", settings: LogSettings, table: TableRef) -> None:
    """Join the files of a table that gets one a change and is read whole by whoever asks."""
    if not log_of(context.lake, table).exists():
        return
    if len(context.committer.fresh(table).file_uris()) > settings.compact_above_files:
        context.committer.compact(table)
        context.committer.vacuum(table)


def _oldest(handle: DeltaTable) -> datetime | None:
    files = pa.table(handle.get_add_actions(flatten=True))
    oldest = pc.min(files["min.time"]).as_py() if "min.time" in files.column_names else None
    return oldest if oldest is None or oldest.tzinfo else oldest.replace(tzinfo=UTC)


def _once(entries: Sequence[Entry]) -> list[Entry]:
    """The first of each mark: a batch that was finished after a kill may have been kept twice."""
    marked = {entry.mark: entry for entry in reversed(entries) if entry.mark is not None}
    return [e for e in entries if e.mark is None or marked[e.mark] is e]


def _newest_marks(entries: Sequence[Entry]) -> list[Batch]:
    """One mark a stream of batches: the newest stands for all before it."""
    newest: dict[str, int] = {}
    for mark in (entry.mark for entry in entries):
        if mark is not None:
            newest[mark.app_id] = max(mark.version, newest.get(mark.app_id, mark.version))
    return [Batch(app_id, version) for app_id, version in newest.items()]


def written(context: "LakeContext", table: TableRef, data: pa.Table) -> Commit:
    """The commit of some rows, whose file is written."""
    plan = WritePlan(
        store=context.lake,
        targets=(Target(folder=log_of(context.lake, table).folder, layout=table.name),),
        layouts={table.name: Layout(schema=data.schema, sources=tuple(data.column_names))},
        buffer_bytes=context.buffer_bytes,
    )
    placed = data.append_column(TABLE, pa.repeat(pa.scalar(0, pa.int32()), data.num_rows))
    files = [
        DataFile(path=e["path"], size=e["size"], rows=e["rows"], stats=e["stats"])
        for manifest in write_task(placed.to_batches(), plan)
        for e in manifest.to_pylist()
    ]
    return Commit(table=table, files=files, info={"rows": str(data.num_rows)})
