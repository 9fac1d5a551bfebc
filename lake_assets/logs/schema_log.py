"""The table `schema_log`: which columns silver's tables have had, since when, and why.

Entries come after the tables have the columns, by comparison of both: what a death keeps out of the
log the next start puts in, once. The table is kept as it is: it gets a row a change, and no age
takes it out again.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.conflicts import again_on_conflict, overtaken
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.logs.write import written
from lake_assets.model.schema_history import Reason, SchemaEntry, Why
from lake_assets.model.tables import SCHEMA_LOG
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    # The doctor reads logs without Spark, whose import takes seconds.
    from lake_assets.spark.lake_context import LakeContext

SCHEMA = pa.schema(
    [
        ("feed", pa.string()),
        ("key", pa.string()),  # null of a version, which is of all keys
        ("time", pa.timestamp("us", tz="UTC")),  # when it was noticed; later than all before it
        ("column_name", pa.string()),
        ("type", pa.string()),  # null if the column is gone
        ("before", pa.string()),  # null if there was no such column
        ("why", pa.string()),  # a `model.schema_history.Why`
        ("version", pa.int32()),  # of a registered schema
        ("schema_id", pa.int64()),
        ("schema", pa.binary()),  # of a version, what decoders are made from
        (
            "note",
            pa.string(),
        ),  # of a version, why it cannot be used; of a column, which field it is
        ("subject", pa.string()),  # of a version, null if an earlier release noted it
    ]
)
"""Columns of the table."""

_MOMENT = timedelta(microseconds=1)

_TRIES = 5
"""Tries where a requeue or a rebuild notes changes of the same feed."""

_KNOWN = frozenset(Why)
"""Reasons that this release knows; rows of others are for whoever reads the table."""


def entries_of(lake: Store, feed: str) -> list[SchemaEntry]:
    """What the table has of a feed, in the order of time.

    Raises:
        LakeError: the table cannot be read.
    """
    handle = open_table(lake, SCHEMA_LOG)
    return [] if handle is None else _entries(lake, handle, feed)


def record_changes(
    context: "LakeContext",
    feed: str,
    changed: Callable[[Sequence[SchemaEntry]], Sequence[SchemaEntry]],
) -> list[SchemaEntry]:
    """Put into the table what it lacks.

    Args:
        context: of the lake.
        feed: whose schemas.
        changed: tells what is new, by the entries that are there; may be asked again.

    Returns:
        What it lacked.

    Raises:
        LakeError: the lake cannot be written.
        CommitConflictError: others keep noting changes of the feed.
    """
    if not context.committer.create({SCHEMA_LOG: SCHEMA}):
        context.committer.add_columns({SCHEMA_LOG: SCHEMA})  # that of an earlier release
    return _record(context, feed, changed)


@again_on_conflict(_TRIES)
def _record(
    context: "LakeContext",
    feed: str,
    changed: Callable[[Sequence[SchemaEntry]], Sequence[SchemaEntry]],
) -> list[SchemaEntry]:
    handle = context.committer.fresh(SCHEMA_LOG)
    app_id = f"lake_assets:schemas:{feed}"
    number = handle.transaction_version(app_id) or 0
    kept = _entries(context.lake, handle, feed)
    at = _after(kept, datetime.now(UTC))
    new = [replace(entry, at=at) for entry in changed(kept)]
    if not new:
        return []
    rows = [_row(feed, entry) for entry in new]
    commit = written(context, SCHEMA_LOG, pa.Table.from_pylist(rows, schema=SCHEMA))
    if context.committer.append([commit], Batch(app_id, number + 1)):
        for file in commit.files:
            context.lake.delete(log_of(context.lake, SCHEMA_LOG).folder / file.path)
        raise overtaken(SCHEMA_LOG, "a requeue or a rebuild noted changes of the same feed")
    return new


def _after(kept: Sequence[SchemaEntry], now: datetime) -> datetime:
    """Now, or right after what is kept: a clock that was ahead once puts nothing new before it."""
    last = max((entry.at for entry in kept if entry.at is not None), default=None)
    return now if last is None else max(now, last + _MOMENT)


def _entries(lake: Store, handle: DeltaTable, feed: str) -> list[SchemaEntry]:
    log = log_of(lake, SCHEMA_LOG)
    rows = (row for file in active_files(handle) for row in read_file(log, file).to_pylist())
    own = [_entry(row) for row in rows if row["feed"] == feed and row["why"] in _KNOWN]
    return sorted(own, key=lambda entry: entry.at.timestamp() if entry.at else 0.0)


def _row(feed: str, entry: SchemaEntry) -> dict[str, Any]:
    return {
        "feed": feed,
        "key": entry.key,
        "time": entry.at,
        "column_name": entry.column,
        "type": entry.type,
        "before": entry.before,
        "why": entry.reason.why.value,
        "version": entry.reason.version,
        "schema_id": entry.reason.schema_id,
        "schema": entry.schema,
        "note": entry.note,
        "subject": entry.reason.subject,
    }


def _entry(row: dict[str, Any]) -> SchemaEntry:
    return SchemaEntry(
        key=row["key"],
        column=row["column_name"],
        type=row["type"],
        before=row["before"],
        reason=Reason(Why(row["why"]), row["version"], row["schema_id"], row.get("subject")),
        schema=row["schema"],
        note=row["note"],
        at=row["time"],
    )
