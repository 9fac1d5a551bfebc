"""What Spark asks the reader, without a Spark; with one: `e2e/test_postgres_source.py`."""

import pickle

import pytest
from pydantic import SecretStr

from lake_assets.sources.landing.stream import LandedReader
from lake_assets.sources.postgres.stream import reading_of
from lake_assets_tests.sources.postgres.landings import PURCHASES, land, source_of

IDLE = """
select count(*) from pg_stat_activity
where application_name = 'lake-assets' and datname = current_database()
"""


@pytest.fixture
def reader_of(lake):
    def make(source, start=0):
        secrets = {"NAME": SecretStr("hunter2")}
        told = reading_of(source, lake, "purchases", secrets, start=start, max_rows=4, tasks=2)
        return LandedReader(told)

    return make


def _taken(reader):
    """What Spark would read until nothing comes: by batch its ordinals."""
    batches, at = [], reader.initialOffset()
    while (end := reader.latestOffset(at, None)) != at:
        tasks = reader.partitions(at, end)
        rows = [batch.to_pylist() for task in tasks for batch in reader.read(task)]
        batches.append([row["ordinal"] for part in rows for row in part])
        at = end
    return batches


def _add(database, count):
    add = "insert into purchases (player) select 'ann' from generate_series(1, %s)"
    database.ask(add, count)


def test_batches_are_bounded_and_end_with_what_is_there(database, reader_of):
    database.ask(PURCHASES)
    _add(database, 10)
    reader = reader_of(source_of(database))
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset({"at": 0}, None) == {"at": 4}
    _add(database, 1)
    assert _taken(reader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    reader.stop()


def test_a_pass_lets_go_of_the_database_while_a_batch_waits(database, reader_of, monkeypatch):
    monkeypatch.setattr("lake_assets.sources.postgres.stream._READS_FOR_S", 0)
    monkeypatch.setattr("lake_assets.sources.postgres.landing._ROWS", 3)
    monkeypatch.setattr("lake_assets.sources.postgres.database._FIRST_ROWS", 3)
    database.ask(PURCHASES)
    _add(database, 20)
    reader = reader_of(source_of(database))
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset({"at": 0}, None) == {"at": 4}
    assert database.ask(IDLE) == [(0,)]
    assert [n for batch in _taken(reader) for n in batch] == list(range(20))
    reader.stop()


def test_without_an_end_the_table_is_looked_at_now_and_then(database, reader_of):
    database.ask(PURCHASES)
    _add(database, 1)
    reader = reader_of(source_of(database))
    assert reader.latestOffset({"at": 0}, None) == {"at": 1}
    _add(database, 1)
    assert reader.latestOffset({"at": 1}, None) == {"at": 1}  # ten seconds are not over
    reader.stop()


def test_what_landed_comes_before_a_database_that_is_away(database, lake, reader_of):
    source = source_of(database)
    database.ask(PURCHASES)
    _add(database, 3)
    land(source, lake)
    database.ask("drop table purchases")
    reader = reader_of(source)
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset({"at": 0}, None) == {"at": 3}
    reader.stop()


def test_tasks_get_no_secrets(database, reader_of):
    assert b"hunter2" not in pickle.dumps(reader_of(source_of(database)))
