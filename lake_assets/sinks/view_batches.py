"""A batch of a sink of a view: from which versions of which tables to which, and which share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deltalake.exceptions import DeltaError

from lake_assets.delta.data_files import active_files, are_whole
from lake_assets.delta.increments import Point
from lake_assets.delta.log_tail import newest_version
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.tables import TableRef
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.view_changes import Sent, ViewChange, change_between, columns_of_view, is_at
from lake_assets.sinks.view_position import (
    Begun,
    begun_in,
    is_unsure,
    key_number,
    key_of,
    last_time_us,
    table_of,
)
from lake_assets.storage.store import Store

_MOST_ROWS = 500_000
"""Rows of a batch that are read: of each a hash, and of those that are sent a key, are in memory,
some 100 MB at most. Fewer read the files of a large change more often."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewBatch:
    """What is sent between some versions and others."""

    begun: Begun
    changes: tuple[ViewChange, ...]
    is_noted: bool = False
    """Whether what is begun is recorded already."""

    was_begun: bool = False
    """Whether rows of it may be."""

    unknown: tuple[TableRef, ...] = ()
    """Tables of which it is not known what was sent: that is recorded with what is begun, so that
    all of their rows are sent also by the next share, and after a kill."""

    @property
    def has_rows(self) -> bool:
        """Whether there may be anything to send."""
        return any(change.rows for change in self.changes)

    @property
    def next_share(self) -> Begun:
        """What is begun once this share is done."""
        begun = self.begun
        return replace(begun, number=begun.number + 1, share=begun.share + 1)


def next_batch(
    lake: Store, deliveries: Deliveries, tables: Sequence[TableRef], key: Sequence[str]
) -> ViewBatch | None:
    """What is to be sent next; None if the tables have nothing new.

    Args:
        lake: where the tables are.
        deliveries: of the sink.
        tables: of the view; some may not be there.
        key: columns that tell their rows apart.

    Raises:
        LakeError: a table cannot be read.
    """
    begun = begun_in(deliveries, tables)
    if begun is not None:
        return _again(lake, deliveries, begun, key)
    changes: list[ViewChange] = []
    unknown: list[TableRef] = []
    for table in tables:
        until = _newer(log_of(lake, table), deliveries.point_of(table.relative))
        if until is None:
            continue
        unsure = is_unsure(deliveries, table)
        why = "another batch was cut off" if unsure else ""
        change = _change_of(lake, deliveries, table, until, key, why_all=why)
        if changes and sum(one.rows for one in changes) + change.rows > _MOST_ROWS:
            break
        changes.append(change)
        if unsure:
            unknown.append(table)
    if not changes:
        return None
    new = _of(changes, key, deliveries.batch + 1, last_time_us(deliveries))
    return ViewBatch(begun=new, changes=tuple(changes), unknown=tuple(unknown))


def _newer(log: TableLog, after: Point) -> Point | None:
    """The newest version of a table, if it is another than one that is done."""
    try:
        newest = newest_version(log)
    except FileNotFoundError:
        return None
    return None if newest == after.version and is_at(log, after) else Point.at(log, newest)


def _again(lake: Store, deliveries: Deliveries, begun: Begun, key: Sequence[str]) -> ViewBatch:
    """A batch that was begun, once more.

    A version that it goes to may be gone, or lack a column of the key that the view has by now. Who
    gets the rows may have some of it, so that all of the newest one go there, if there is one; if
    not, once there is.
    """
    changes, unknown = [], []
    for table, until in begun.until.items():
        log = log_of(lake, table)
        if _is_readable(log, until, key):
            changes.append(_change_of(lake, deliveries, table, until, key))
            continue
        unknown.append(table)
        newest = _newer(log, Point())
        if newest is not None:
            why = f"version {until.version}, of which some rows were sent, is gone or has no key"
            changes.append(_change_of(lake, deliveries, table, newest, key, why_all=why))
    rows = sum(change.rows for change in changes)
    # Where a version that it goes from is gone by now, all rows may be too many for its shares;
    # and rows that are told apart otherwise by now are in other shares than before.
    is_other_key = begun.key != key_number(key)
    is_other = bool(unknown) or is_other_key or rows > _MOST_ROWS * begun.shares
    if is_other:
        begun = _of(changes, key, begun.number, begun.time_us)
    return ViewBatch(
        begun=begun,
        is_noted=not is_other,
        was_begun=True,
        changes=tuple(changes),
        unknown=tuple(unknown),
    )


def _is_readable(log: TableLog, until: Point, key: Sequence[str]) -> bool:
    if not is_at(log, until):
        return False
    try:
        handle = log.open(until.version)
    except DeltaError:
        return False
    has_key = set(key) <= set(columns_of_view(handle).names)
    return has_key and are_whole(log, active_files(handle))


def _of(changes: Sequence[ViewChange], key: Sequence[str], number: int, last_time_us: int) -> Begun:
    """What a batch of some changes is begun as."""
    rows = sum(change.rows for change in changes)
    return Begun(
        number=number,
        time_us=max([last_time_us + 1, *(change.time_us for change in changes)]),
        key=key_number(key),
        until={change.table: change.until for change in changes},
        shares=max(1, -(-rows // _MOST_ROWS)),
    )


def _change_of(
    lake: Store,
    deliveries: Deliveries,
    table: TableRef,
    until: Point,
    key: Sequence[str],
    *,
    why_all: str = "",
) -> ViewChange:
    """As `view_changes.change_between`, from what a sink has done."""
    sent = Sent(
        point=deliveries.point_of(table.relative),
        table=table_of(deliveries, table),
        key=key_of(deliveries, table),
        why_all=why_all,
    )
    return change_between(lake, table, sent, until, key)
