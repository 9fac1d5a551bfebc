import threading
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.committer import Committer
from lake_assets.errors import CommitConflictError
from lake_assets.logs import schema_log
from lake_assets.logs.entries import SCHEMAS
from lake_assets.logs.schema_log import entries_of, record_changes
from lake_assets.logs.write import keep_up
from lake_assets.model.schema_history import Reason, SchemaEntry, Why, changes
from lake_assets.model.tables import SCHEMA_LOG
from lake_assets.settings.upkeep import LogSettings
from lake_assets.spark.lake_context import open_lake

VERSION = SchemaEntry(
    key=None,
    column=None,
    type=None,
    reason=Reason(Why.REGISTRY, 2, 7, "games-value"),
    schema=b"\0descriptors",
    note="is not valid",
)


@pytest.fixture
def context(settings):
    with open_lake(settings) as opened:
        yield opened


def of(columns):
    def changed(kept):
        return changes(kept, columns, [], lambda *_: Reason(Why.INFERRED))

    return changed


def told(context, feed="games"):
    return [(e.key, e.column, e.type, e.before) for e in entries_of(context.lake, feed)]


def test_without_a_table_nothing_is_kept(context):
    assert entries_of(context.lake, "games") == []


def test_changes_are_kept_in_the_order_of_time_and_each_once(context, settings):
    for kind in ("int", "int", "bigint"):
        record_changes(context, "games", of({"uno": {"a": kind}}))
    assert told(context) == [("uno", "a", "int", None), ("uno", "a", "bigint", "int")]
    assert DeltaTable(settings.lake_dir / SCHEMA_LOG.relative).version() == 2
    assert all(entry.at for entry in entries_of(context.lake, "games"))


def test_a_clock_that_was_ahead_once_puts_nothing_new_before_what_it_noted(context, monkeypatch):
    class Clock(datetime):
        day = 2

        @classmethod
        def now(cls, tz=None):
            return cls(2030, 1, cls.day, tzinfo=tz)

    monkeypatch.setattr("lake_assets.logs.schema_log.datetime", Clock)
    record_changes(context, "games", of({"uno": {"a": "int"}}))
    Clock.day = 1
    for kind in ("bigint", "bigint", "double", "double"):
        record_changes(context, "games", of({"uno": {"a": kind}}))
    assert [e.type for e in entries_of(context.lake, "games")] == ["int", "bigint", "double"]
    times = [entry.at for entry in entries_of(context.lake, "games")]
    assert times == [datetime(2030, 1, 2, 0, 0, 0, us, tzinfo=UTC) for us in range(3)]


def test_a_version_comes_back_as_it_was(context):
    (kept,) = record_changes(context, "games", lambda _: [VERSION])
    assert entries_of(context.lake, "games") == [kept]


def test_a_table_of_an_earlier_release_gets_the_subject_of_what_is_noted_from_now_on(
    context, settings, monkeypatch
):
    earlier = pa.schema([column for column in schema_log.SCHEMA if column.name != "subject"])
    old = replace(VERSION, reason=Reason(Why.REGISTRY, 1, 6))
    with monkeypatch.context() as patch:
        patch.setattr(schema_log, "SCHEMA", earlier)
        record_changes(context, "games", lambda _: [old])
    assert "subject" not in columns_of_log(settings)
    record_changes(context, "games", lambda _: [VERSION])
    assert "subject" in columns_of_log(settings)
    subjects = [entry.reason.subject for entry in entries_of(context.lake, "games")]
    assert subjects == [None, "games-value"]
    context.committer.create(SCHEMAS)
    keep_up(context, LogSettings(), datetime(2100, 1, 1, tzinfo=UTC))
    assert len(entries_of(context.lake, "games")) == 2


def columns_of_log(settings):
    return [one.name for one in DeltaTable(settings.lake_dir / SCHEMA_LOG.relative).schema().fields]


def test_feeds_have_entries_of_their_own(context):
    record_changes(context, "games", of({"uno": {"a": "int"}}))
    record_changes(context, "other", of({"uno": {"a": "int"}}))
    assert len(told(context, "other")) == 1


def test_two_processes_that_note_the_same_at_once_note_it_once(context, settings):
    """The second one looks again, and finds nothing to add."""
    with open_lake(settings) as other:
        looks = []

        def changed(kept):
            if not looks:
                looks.append(True)
                record_changes(other, "games", of({"uno": {"a": "int"}}))
            return of({"uno": {"a": "int"}})(kept)

        assert record_changes(context, "games", changed) == []
    assert told(context) == [("uno", "a", "int", None)]
    files = list((settings.lake_dir / SCHEMA_LOG.relative).glob("*.parquet"))
    assert len(files) == 1


def test_who_never_gets_a_turn_is_told_so(context, settings):
    with open_lake(settings) as other:
        kinds = iter(range(99))

        def changed(_):
            record_changes(other, "games", of({"uno": {f"c{next(kinds)}": "int"}}))
            return [VERSION]

        with pytest.raises(CommitConflictError, match="schema_log"):
            record_changes(context, "games", changed)


def test_threads_of_feeds_do_not_hold_each_other_up(context):
    feeds = [f"feed{number}" for number in range(4)]
    threads = [
        threading.Thread(target=record_changes, args=(context, feed, of({"k": {"a": "int"}})))
        for feed in feeds
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [told(context, feed) for feed in feeds] == [[("k", "a", "int", None)]] * 4


def test_a_death_before_the_entry_is_made_up_for_by_the_next_look(context, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Committer, "append", die)
        with pytest.raises(KeyboardInterrupt):
            record_changes(context, "games", of({"uno": {"a": "int"}}))
    assert told(context) == []
    record_changes(context, "games", of({"uno": {"a": "int"}}))
    assert told(context) == [("uno", "a", "int", None)]


def test_rows_of_a_later_release_are_left_to_it(context, settings):
    record_changes(context, "games", of({"uno": {"a": "int"}}))
    table = DeltaTable(settings.lake_dir / SCHEMA_LOG.relative)
    rows = table.to_pyarrow_table()
    foreign = [rows.to_pylist()[0] | {"why": "unheard of", "type": "variant"}]
    write_deltalake(table, pa.Table.from_pylist(foreign, schema=rows.schema), mode="append")
    assert told(context) == [("uno", "a", "int", None)]


def test_its_files_are_joined_and_nothing_of_it_is_deleted(context):
    context.committer.create(SCHEMAS)
    for number in range(5):
        record_changes(context, "games", of({"uno": {f"c{n}": "int" for n in range(number + 1)}}))
    upkeep = LogSettings(compact_above_files=2, keep_days=1)
    keep_up(context, upkeep, datetime(2100, 1, 1, tzinfo=UTC))
    assert len(context.committer.fresh(SCHEMA_LOG).file_uris()) == 1
    assert len(told(context)) == 5
