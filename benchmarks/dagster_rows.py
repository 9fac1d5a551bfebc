"""Rows of Dagster's storage, copied: what a run stores, under other runs' ids. For benchmarks."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.runs.schema import RunsTable, RunTagsTable
from dagster._core.storage.runs.sql_run_storage import SqlRunStorage


def log_of(instance: dg.DagsterInstance) -> SqlEventLogStorage:
    """The store of events; that of either of Dagster's own storages."""
    log = instance.event_log_storage
    assert isinstance(log, SqlEventLogStorage)  # noqa: S101 - nothing else is measured
    return log


def copy_events(
    instance: dg.DagsterInstance, source: str, run_id: str, times: int, *, after: int
) -> None:
    """Store a run's materializations and results so many times more, for another run.

    Args:
        instance: where.
        source: the run that has them.
        run_id: the other run.
        times: how often.
        after: the id that they come after.
    """
    log, table = log_of(instance), SqlEventLogStorageTable
    # Results of checks name no asset in their row.
    kinds = (dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    which = sa.and_(
        table.c.dagster_event_type.in_([kind.value for kind in kinds]), table.c.id > after
    )
    for _ in range(times):
        # A transaction a report: SQLite's log beside the file stays as large as its largest.
        with log.index_connection() as connection:
            connection.execute(_insert(table, source, run_id, which))
    if isinstance(log, SqliteEventLogStorage):
        # The file of the run's own events: the same rows once more.
        with log.run_connection(run_id) as connection:
            index = log.path_for_shard("index")
            connection.execute(sa.text(f"ATTACH DATABASE '{index}' AS everything"))
            names = ", ".join(c.name for c in table.c if c.name != "id")
            connection.execute(
                sa.text(
                    f"INSERT INTO event_logs ({names}) SELECT {names} FROM everything.event_logs "  # noqa: S608 - names of columns
                    "WHERE run_id = :run_id"
                ),
                {"run_id": run_id},
            )


def copy_run(instance: dg.DagsterInstance, source: str, at: datetime) -> None:
    """A further run like this one, with all of its events and its record, that ended at `at`."""
    log, runs = log_of(instance), instance.run_storage
    assert isinstance(runs, SqlRunStorage)  # noqa: S101 - nothing else is measured
    run_id = str(uuid4())
    with log.index_connection() as connection:
        connection.execute(_insert(SqlEventLogStorageTable, source, run_id, sa.true()))
    if isinstance(log, SqliteEventLogStorage):
        shutil.copy(log.path_for_shard(source), log.path_for_shard(run_id))
    with runs.connect() as connection:
        for table in (RunsTable, RunTagsTable):
            connection.execute(_insert(table, source, run_id, sa.true()))
    date_run(instance, run_id, at)


def date_run(instance: dg.DagsterInstance, run_id: str, at: datetime) -> None:
    """Have a run's record say that it was last changed then."""
    runs = instance.run_storage
    assert isinstance(runs, SqlRunStorage)  # noqa: S101 - nothing else is measured
    naive = at.astimezone(UTC).replace(tzinfo=None)
    with runs.connect() as connection:
        connection.execute(
            RunsTable.update()
            .where(RunsTable.c.run_id == run_id)
            .values(update_timestamp=naive, create_timestamp=naive)
        )


def storage_bytes(instance: dg.DagsterInstance, home: Path) -> int:
    """What events, runs and their files take on the disk."""
    log = log_of(instance)
    if isinstance(log, SqliteEventLogStorage):
        return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    with log.index_connection() as connection:
        found = connection.execute(sa.text("SELECT pg_database_size(current_database())"))
        return int(found.scalar_one())


def newest_event(instance: dg.DagsterInstance) -> int:
    """The id of the newest event of all; 0 without one."""
    with log_of(instance).index_connection() as connection:
        query = sa.select(sa.func.max(SqlEventLogStorageTable.c.id))
        return int(connection.execute(query).scalar_one() or 0)


def count_events(instance: dg.DagsterInstance) -> int:
    """Events that are stored, of all runs."""
    with log_of(instance).index_connection() as connection:
        query = sa.select(sa.func.count()).select_from(SqlEventLogStorageTable)
        return int(connection.execute(query).scalar_one())


def _insert(table: sa.Table, source: str, run_id: str, which: sa.ColumnElement[bool]) -> sa.Insert:
    columns = [column for column in table.c if column.name != "id"]
    texts = {"event", "run_body"}
    values: list[sa.ColumnElement[str]] = []
    for column in columns:
        if column.name == "run_id":
            values.append(sa.literal(run_id))
        elif column.name in texts:
            values.append(sa.func.replace(column, source, run_id))
        else:
            values.append(column)
    rows = sa.select(*values).where(table.c.run_id == source, which).order_by(table.c.id)
    return table.insert().from_select([column.name for column in columns], rows)
