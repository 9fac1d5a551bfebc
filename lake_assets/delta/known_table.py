"""A table as somebody last saw it, or left it: what an append must know, and whether it stands.

What is done by it is `delta.append`'s.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.table_features import features_of
from lake_assets.delta.table_layout import layout_of
from lake_assets.delta.table_log import TableLog


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """A table as somebody last saw it, or left it."""

    version: int
    table_id: str
    """That Delta gave it."""

    last: Mapping[str, int | None]
    """By stream (`Batch.app_id`), its newest batch in the table; None if it has none."""

    is_whole: bool = False
    """Whether `last` names every stream: the table has been followed since it was created."""

    partition_by: tuple[str, ...] = ()
    layout: str | None = None
    """As `table_layout.layout_of`; None if whoever knows the table has compared it already."""

    has_constraints: bool = False
    """Whether rows must be judged before they come."""

    columns: str = ""
    """Of the table, as Delta's JSON; empty of one that was created or replaced, not looked at."""

    def has(self, batch: Batch) -> bool | None:
        """Whether the table has this batch or a later one; None if this stream was not looked at.

        deltalake accepts an older batch without complaint, so whoever commits must ask.
        """
        if batch.app_id not in self.last:
            return False if self.is_whole else None
        last = self.last[batch.app_id]
        return last is not None and last >= batch.version

    def after(self, batch: Batch) -> "Known":
        """The table with one commit more."""
        last = {**self.last, batch.app_id: batch.version}
        return replace(self, version=self.version + 1, last=last)


def look(handle: DeltaTable, batch: Batch, before: Known | None = None) -> Known:
    """What `append` must know.

    Args:
        handle: the table.
        batch: that is about to come.
        before: what was known. Other streams of it are looked at, too, so that each of several
            that fill a table finds it known after the others; not once its columns are others, for
            which each must be judged again.
    """
    table_id, columns = str(handle.metadata().id), handle.schema().to_json()
    is_same = before is not None and (before.table_id, before.columns) == (table_id, columns)
    streams = {batch.app_id, *(before.last if before is not None and is_same else ())}
    return Known(
        version=handle.version(),
        table_id=table_id,
        columns=columns,
        last={app_id: handle.transaction_version(app_id) for app_id in streams},
        partition_by=tuple(handle.metadata().partition_columns),
        layout=layout_of(handle),
        has_constraints=bool(features_of(handle).constraints),
    )


def stands(log: TableLog, known: Known) -> bool:
    """Whether the commit that `known` ends with is still there: a new table has another log.

    A log whose old commits were swept away says no, too; then it is to be looked at again.
    """
    return log.has(known.version)


def is_last(log: TableLog, known: Known, batch: Batch) -> bool:
    """Whether nobody committed after what is known, and it tells of this batch.

    A bucket is asked for the next commit alone: whether the last one `stands` is asked by who
    appends, and each answer takes tens of milliseconds.
    """
    if known.has(batch) is None or (log.folder.is_local and not stands(log, known)):
        return False
    return not log.has(known.version + 1)
