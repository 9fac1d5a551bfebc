from datetime import UTC, timedelta

import duckdb
import pytest
from deltalake import DeltaTable

from lake_assets.logs.entries import SCHEMAS, Entry, entry_of
from lake_assets.logs.write import append, keep_up
from lake_assets.model.tables import QUALITY_LOG, STREAM_LOG
from lake_assets.settings.upkeep import LogSettings
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.logs.reports import AT, demuxed, ingested
from lake_assets_tests.sample import GAMES


@pytest.fixture
def context(settings):
    with open_lake(settings) as found:
        yield found


def entry(report, at=AT):
    return entry_of(report, GAMES, at)


def opened(context, table=STREAM_LOG):
    return DeltaTable(context.lake.root.as_path() / table.relative)


def batches(context, table=STREAM_LOG):
    found = opened(context, table).to_pyarrow_table().to_pylist()
    return sorted((row.get("stage", "-"), row["batch"]) for row in found)


def test_many_entries_are_one_commit_a_table(context):
    append(context, [entry(ingested(0)), entry(demuxed(0)), entry(ingested(1))])
    assert batches(context) == [("demux", 0), ("ingest", 0), ("ingest", 1)]
    assert batches(context, QUALITY_LOG) == [("-", 0)]
    assert [opened(context, t).version() for t in (STREAM_LOG, QUALITY_LOG)] == [1, 1]


def test_a_table_of_an_earlier_release_gets_the_columns_that_it_lacks(context):
    earlier = {table: schema.remove(len(schema) - 1) for table, schema in SCHEMAS.items()}
    context.committer.create(earlier)
    append(context, [entry(ingested(0))])
    found = [opened(context, table).schema().to_arrow() for table in SCHEMAS]
    assert [{f.name for f in one} for one in found] == [set(s.names) for s in SCHEMAS.values()]
    assert batches(context) == [("ingest", 0)]


def test_an_entry_is_added_once(context):
    append(context, [entry(ingested(0))])
    append(context, [entry(ingested(0)), entry(ingested(1)), entry(ingested(1))])
    append(context, [entry(ingested(1))])
    assert batches(context) == [("ingest", 0), ("ingest", 1)]
    assert opened(context).version() == 2


def test_a_new_checkpoint_counts_its_batches_anew(context):
    append(context, [entry(ingested(7))])
    append(context, [entry(ingested(0, query="another"))])
    assert batches(context) == [("ingest", 0), ("ingest", 7)]


def test_a_refused_batch_and_the_one_that_succeeds_are_both_there(context):
    refused = entry(demuxed(3, is_committed=False))
    append(context, [refused])
    append(context, [entry(demuxed(3), AT + timedelta(seconds=9))])
    found = opened(context).to_pyarrow_table().to_pylist()
    assert sorted(row["is_committed"] for row in found) == [False, True]


def test_what_has_no_mark_is_always_added(context):
    free = Entry(mark=None, rows={STREAM_LOG.name: [{"feed": "games", "batch": 1}]})
    append(context, [free])
    append(context, [free])
    assert opened(context).to_pyarrow_table().num_rows == 2


def test_any_delta_reader_opens_the_logs(context):
    append(context, [entry(ingested(0))])
    protocol = opened(context).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    with duckdb.connect() as db:
        log = db.from_arrow(opened(context).to_pyarrow_table())
        found = log.query("log", "select stage, rows, offsets_to[0] from log").fetchall()
    assert found == [("ingest", 5, 5)]


def test_old_entries_are_deleted_a_day_at_a_time(context):
    settings = LogSettings(keep_days=30)
    append(context, [entry(ingested(0)), entry(demuxed(0))])
    append(context, [entry(ingested(1), AT + timedelta(days=1))])
    keep_up(context, settings, AT + timedelta(days=30, hours=23))
    assert batches(context) == [("demux", 0), ("ingest", 0), ("ingest", 1)]
    keep_up(context, settings, AT.astimezone(UTC) + timedelta(days=31, hours=1))
    assert batches(context) == []
    append(context, [entry(ingested(1), AT)])
    assert batches(context) == []


def test_only_what_is_too_old_is_deleted(context):
    append(context, [entry(ingested(0)), entry(ingested(1), AT + timedelta(days=3))])
    keep_up(context, LogSettings(keep_days=30), AT + timedelta(days=32))
    assert batches(context) == [("ingest", 1)]


def test_files_are_joined_once_there_are_many(context):
    settings = LogSettings(compact_above_files=3)
    for number in range(3):
        append(context, [entry(ingested(number))])
    keep_up(context, settings, AT)
    assert len(opened(context).file_uris()) == 3
    append(context, [entry(ingested(3))])
    keep_up(context, settings, AT)
    assert len(opened(context).file_uris()) == 1
    append(context, [entry(ingested(3)), entry(ingested(4))])
    assert batches(context) == [("ingest", number) for number in range(5)]


def test_upkeep_of_logs_without_entries_does_nothing(context):
    append(context, [])
    keep_up(context, LogSettings(), AT)
    assert batches(context) == []
