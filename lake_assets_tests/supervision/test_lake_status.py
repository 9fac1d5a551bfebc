import re
import time
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.cli.status import _notes
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.compaction import join_files, joinable_files
from lake_assets.model.tables import bronze_of
from lake_assets.state.files import own_heartbeat, streams_lock, write_heartbeat
from lake_assets.state.stream_stops import StreamStop, note_stop
from lake_assets.streams.stream_standing import StreamState
from lake_assets.supervision.lake_status import lake_status
from lake_assets.supervision.status_facts import StreamsState
from lake_assets_tests.backup.lakes import FISH, UNO, UNO_AGG, BatchedLake
from lake_assets_tests.known_topic import NOWHERE
from lake_assets_tests.sample import GAMES


def beat(settings, *, quiet_s=0.0, waiting_for=None, stopped=None):
    write_heartbeat(
        settings.state_dir,
        own_heartbeat(
            "cli",
            progressed_at=time.monotonic() - quiet_s,
            waiting_for=waiting_for,
            stopped=stopped,
        ),
    )


@pytest.mark.parametrize(
    ("given", "state", "detail"),
    [
        ({}, StreamsState.RUNNING, ""),
        ({"waiting_for": "the broker"}, StreamsState.WAITING, "the broker"),
        ({"quiet_s": 500.0}, StreamsState.STALLED, r"no progress for 50\d s"),
    ],
)
def test_streams_are_told_by_their_lock_and_heartbeat(settings, given, state, detail):
    settings.state_dir.mkdir(parents=True)
    with streams_lock(settings.state_dir):
        beat(settings, **given)
        found = lake_status(settings, [GAMES], None).streams
    assert found.state is state
    assert re.fullmatch(detail, found.detail)
    assert found.pid is not None
    assert found.since is not None
    assert lake_status(settings, [GAMES], None).streams.state is StreamsState.NOT_RUNNING


def test_a_lock_whose_holder_says_nothing_is_silence(settings):
    settings.state_dir.mkdir(parents=True)
    with streams_lock(settings.state_dir):
        assert lake_status(settings, [GAMES], None).streams.state is StreamsState.SILENT


def test_a_feed_that_stands_still_says_why(settings):
    settings.state_dir.mkdir(parents=True)
    with streams_lock(settings.state_dir):
        beat(settings, stopped={"games": "a view's name is taken"})
        (feed,) = lake_status(settings, [GAMES], None).feeds
    assert (feed.state, feed.detail) == (StreamState.BLOCKED, "a view's name is taken")


def test_streams_that_somebody_stopped_are_no_fault(settings):
    settings.state_dir.mkdir(parents=True)
    note_stop(settings.state_dir, "games", StreamStop(by="ann"))
    found = lake_status(settings, [GAMES], None)
    assert found.streams.state is StreamsState.STOPPED
    (feed,) = found.feeds
    assert (feed.state, feed.detail) == (StreamState.STOPPED, "by ann")


def test_why_a_lag_is_not_known_is_told(settings):
    (feed,) = lake_status(settings, [GAMES], NOWHERE).feeds
    assert feed.lag_rows is None
    assert feed.lag_unknown.startswith("Kafka at localhost:1")
    assert [note for note in _notes([feed]) if "the lag is not known: Kafka at" in note]


def test_how_far_demux_is_behind_is_in_rows_and_seconds(settings):
    lake = BatchedLake(settings)
    lake.ingest()
    lake.demux(UNO, FISH)
    (even,) = lake_status(settings, [GAMES], None).feeds
    commit = Commit(table=bronze_of("games"), files=(), info={"rows": "3"})
    lake.committer.append([commit], Batch("ingest", 9))
    lake.committer.close()
    (behind,) = lake_status(settings, [GAMES], None).feeds
    assert (even.behind_rows, even.behind_s) == (0, 0.0)
    assert behind.behind_rows == 3
    assert 0 < behind.behind_s < 60


def test_maintenance_makes_no_feed_and_no_view_look_fresher(settings):
    lake = BatchedLake(settings)
    lake.ingest()
    lake.ingest()
    lake.demux(UNO)
    lake.refresh()
    lake.refresh()
    before = lake_status(settings, [GAMES], None)
    time.sleep(0.01)  # commits tell milliseconds
    for table in (bronze_of("games"), UNO_AGG):
        files = [file for file, _ in joinable_files(lake.committer, table)]
        assert join_files(lake.committer, table, files)
    lake.committer.close()
    after = lake_status(settings, [GAMES], None)
    assert before.feeds[0].last_batch_at is not None
    assert after.feeds[0].last_batch_at == before.feeds[0].last_batch_at
    assert [one.refreshed_at for one in before.views if one.tables]
    assert after.views == before.views


def test_bronzes_newest_rows_tell_when_it_got_them(settings):
    came = datetime(2026, 11, 29, 3, 41, tzinfo=UTC)
    rows = pa.table({"ingested_at": pa.array([came], pa.timestamp("us", tz="UTC"))})
    write_deltalake(settings.lake_dir / bronze_of("games").relative, rows)
    (found,) = lake_status(settings, [GAMES], None).feeds
    assert found.last_batch_at == came
