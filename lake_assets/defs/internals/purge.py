"""Deleting what Dagster has stored of a run, but for what its pages show as newest.

Dagster's own `delete_run` takes the newest materializations along, so that a partition that was
quiet since looks as if it had never been materialized; it leaves results of checks, files of logs,
and under SQLite the file that a run's events are in. Tried on Dagster 1.13.27 with SQLite and
PostgreSQL, which are its own storages; one of another kind is left alone.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.asset_check_execution_record import (
    COMPLETED_ASSET_CHECK_EXECUTION_RECORD_STATUSES,
)
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

_EVENTS, _RESULTS, _TAGS = (
    SqlEventLogStorageTable.c,
    AssetCheckExecutionsTable.c,
    AssetEventTagsTable.c,
)

_SHOWN = (
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.ASSET_OBSERVATION,
    # A plan that came to nothing makes a partition failed.
    dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
)

_COMPLETED = tuple(each.value for each in COMPLETED_ASSET_CHECK_EXECUTION_RECORD_STATUSES)

_AT_ONCE = 1000
"""Rows a transaction: others wait for SQLite's one writer meanwhile, and would give up after 20 s.
Beside the purge of a day in 5 GB they waited 1.7 s at most, on a busy machine; a pause between two
made that 0.7 s, and the purge twice as long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deleted:
    """What was deleted of a run."""

    events: int
    results: int
    """Of checks."""

    is_whole: bool
    """Whether nothing of it is left: neither its record nor any event."""

    is_done: bool
    """False if it was told to stop before it had deleted all it could."""


def can_purge(instance: dg.DagsterInstance) -> bool:
    """Whether the events of this instance are where `purge_run` finds them."""
    return isinstance(instance.event_log_storage, SqlEventLogStorage)


def purge_run(instance: dg.DagsterInstance, run_id: str, goes_on: Callable[[], bool]) -> Deleted:
    """Delete a finished run, with its events, results of checks and files of logs.

    Kept are the newest materialization, observation and plan of each partition and the newest
    result of each check and partition, and then the run's record as well, to which they lead. What
    was deleted stays so if it ends in between, and the next call deletes the rest.

    Args:
        instance: one that `can_purge`.
        run_id: the run.
        goes_on: asked between two transactions.
    """
    log = instance.event_log_storage
    assert isinstance(log, SqlEventLogStorage)  # noqa: S101 - as promised
    kept_events = frozenset(_newest_events(log, run_id))
    kept_results = frozenset(_newest_results(log, run_id))
    events, events_done = _delete(log, SqlEventLogStorageTable, run_id, kept_events, goes_on)
    results, results_done = _delete(log, AssetCheckExecutionsTable, run_id, kept_results, goes_on)
    is_done = events_done and results_done
    is_whole = is_done and not kept_events and not kept_results
    if is_done:
        # The files last but for the record, by which the next call would find them.
        _delete_files(instance, log, run_id)
    if is_whole:
        instance.run_storage.delete_run(run_id)
    return Deleted(events=events, results=results, is_whole=is_whole, is_done=is_done)


def _newest_events(log: SqlEventLogStorage, run_id: str) -> Iterator[int]:
    """Ids of the run's events that are the newest of their kind and partition."""
    query = (
        sa.select(
            _EVENTS.asset_key,
            _EVENTS.dagster_event_type,
            _EVENTS.partition,
            sa.func.max(_EVENTS.id),
        )
        .where(
            _EVENTS.run_id == run_id,
            _EVENTS.asset_key.is_not(None),
            _EVENTS.dagster_event_type.in_([kind.value for kind in _SHOWN]),
        )
        .group_by(_EVENTS.asset_key, _EVENTS.dagster_event_type, _EVENTS.partition)
    )
    with log.index_connection() as connection:
        for asset, kind, partition, own in connection.execute(query).fetchall():
            newer = sa.select(_EVENTS.id).where(
                _EVENTS.asset_key == asset,
                _EVENTS.dagster_event_type == kind,
                _same(_EVENTS.partition, partition),
                _EVENTS.id > own,
            )
            if connection.execute(newer.limit(1)).first() is None:
                yield own


def _newest_results(log: SqlEventLogStorage, run_id: str) -> Iterator[int]:
    """Ids of the run's results that are the newest of their check and partition.

    Of one that a later run planned and never came to, the newest that was come to stays, too:
    Dagster looks for both.
    """
    is_result = sa.case((_RESULTS.execution_status.in_(_COMPLETED), 1), else_=0)
    columns = (_RESULTS.asset_key, _RESULTS.check_name, _RESULTS.partition, is_result)
    query = (
        sa.select(*columns, sa.func.max(_RESULTS.id))
        .where(_RESULTS.run_id == run_id)
        .group_by(*columns)
    )
    with log.index_connection() as connection:
        for asset, check, partition, completed, own in connection.execute(query).fetchall():
            newer = sa.select(_RESULTS.id).where(
                _RESULTS.asset_key == asset,
                _RESULTS.check_name == check,
                _same(_RESULTS.partition, partition),
                is_result == completed,
                _RESULTS.id > own,
            )
            if connection.execute(newer.limit(1)).first() is None:
                yield own


def _same(column: sa.ColumnElement[str], value: str | None) -> sa.ColumnElement[bool]:
    return column.is_(None) if value is None else column == value


def _delete(
    log: SqlEventLogStorage,
    table: sa.Table,
    run_id: str,
    kept: Collection[int],
    goes_on: Callable[[], bool],
) -> tuple[int, bool]:
    """Delete the run's rows of a table, some at once; how many, and whether none are left."""
    deleted, after = 0, 0
    while goes_on():
        with log.index_connection() as connection:
            ids = _ids(connection, table, run_id, after)
            if not ids:
                return deleted, True
            after = ids[-1]
            going = [row for row in ids if row not in kept]
            if table is SqlEventLogStorageTable:
                connection.execute(AssetEventTagsTable.delete().where(_TAGS.event_id.in_(going)))
            connection.execute(table.delete().where(table.c.id.in_(going)))
            deleted += len(going)
    return deleted, False


def _ids(connection: sa.Connection, table: sa.Table, run_id: str, after: int) -> Sequence[int]:
    query = (
        sa.select(table.c.id)
        .where(table.c.run_id == run_id, table.c.id > after)
        .order_by(table.c.id)
        .limit(_AT_ONCE)
    )
    return [row[0] for row in connection.execute(query)]


def _delete_files(instance: dg.DagsterInstance, log: SqlEventLogStorage, run_id: str) -> None:
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    if isinstance(log, SqliteEventLogStorage):
        shard = Path(log.path_for_shard(run_id))
        for name in (shard.name, f"{shard.name}-wal", f"{shard.name}-shm"):
            shard.with_name(name).unlink(missing_ok=True)
