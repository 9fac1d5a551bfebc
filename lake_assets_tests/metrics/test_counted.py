from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from lake_assets.logs.entries import entry_of_refresh
from lake_assets.metrics.counted import Counted, outcomes_of
from lake_assets.model.reports import (
    BatchReport,
    Judged,
    Mode,
    RefreshReport,
    Stage,
    ViewFailed,
    ViewRefresh,
)
from lake_assets_tests.sample import GAMES

AT = datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC)

INGESTED = BatchReport(
    feed="games",
    stage=Stage.INGEST,
    batch_id=1,
    rows={"bronze_games": 10},
    seconds={"job": 0.5, "commit": 0.25},
    files=2,
)

DEMUXED = BatchReport(
    feed="games",
    stage=Stage.DEMUX,
    batch_id=1,
    rows={
        "silver_uno_events": 4,
        "silver_go_fish_events": 2,
        "quarantine_games": 1,
        "bronze_games_waiting": 1,
    },
    dropped={"uno": 2},
    judged={("uno", "gamer_is_known"): Judged(seen=6, violated=2)},
    seconds={"job": 0.5},
    files=4,
)


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def counted(registry):
    return Counted(registry, [GAMES])


def value(registry, name, **labels):
    return registry.get_sample_value(f"lake_assets_{name}", {"feed": "games", **labels})


@pytest.mark.usefixtures("counted")
def test_each_series_of_a_feed_is_there_before_its_first_batch(registry):
    assert value(registry, "rows_total", stage="demux", outcome="quarantine") == 0
    assert value(registry, "batches_total", stage="ingest", result="refused") == 0
    assert value(registry, "view_failures_total", view="player_agg") == 0
    assert value(registry, "expectation_violations_total", expectation="gamer_is_known") == 0


@pytest.mark.usefixtures("counted")
def test_a_view_that_was_not_refreshed_has_no_time_of_it(registry):
    assert value(registry, "view_refreshed_timestamp_seconds", view="player_agg") is None


def test_rows_are_counted_by_where_they_went(registry, counted):
    counted.batch(INGESTED)
    counted.batch(DEMUXED)
    counted.batch(DEMUXED)
    assert value(registry, "rows_total", stage="ingest", outcome="bronze") == 10
    of_demux = {
        outcome: value(registry, "rows_total", stage="demux", outcome=outcome)
        for outcome in ("silver", "quarantine", "waiting", "dropped")
    }
    assert of_demux == {"silver": 12, "quarantine": 2, "waiting": 2, "dropped": 4}


def test_all_rows_of_a_batch_went_somewhere():
    assert sum(outcomes_of(DEMUXED).values()) == 10


def test_times_files_and_commits_are_counted_by_stage(registry, counted):
    counted.batch(INGESTED)
    counted.batch(DEMUXED)
    assert value(registry, "batch_phase_seconds_total", stage="ingest", phase="commit") == 0.25
    assert value(registry, "batch_seconds_sum", stage="ingest") == 0.75
    assert value(registry, "batch_seconds_count", stage="demux") == 1
    assert value(registry, "files_total", stage="demux") == 4
    assert value(registry, "commits_total", stage="ingest") == 1
    assert value(registry, "commits_total", stage="demux") == 4


def test_quarantine_is_committed_by_each_batch_of_demux(registry, counted):
    counted.batch(BatchReport(feed="games", stage=Stage.DEMUX, batch_id=1, rows={"silver_x": 1}))
    assert value(registry, "commits_total", stage="demux") == 2


def test_a_refused_batch_counts_as_such_and_has_no_rows(registry, counted):
    judged = {("uno", "gamer_is_known"): Judged(seen=6, violated=5)}
    counted.batch(
        BatchReport(
            feed="games",
            stage=Stage.DEMUX,
            batch_id=1,
            rows={},
            judged=judged,
            is_committed=False,
        )
    )
    assert value(registry, "batches_total", stage="demux", result="refused") == 1
    assert value(registry, "batch_seconds_count", stage="demux") == 0
    assert value(registry, "expectation_violations_total", expectation="gamer_is_known") == 5


def test_a_refresh_is_counted_by_its_entry_in_the_log(registry, counted):
    views = [
        ViewRefresh(key="uno", view="player_agg", rows=7, silver_version=3, mode=mode, rows_read=20)
        for mode in (Mode.INCREMENTAL, Mode.INCREMENTAL, Mode.FULL)
    ]
    report = RefreshReport(
        refreshed=tuple(views), up_to_date=(), seconds={"job": 1.5, "commit": 0.5}
    )
    counted.refreshes([entry_of_refresh(report, GAMES, AT)])
    assert value(registry, "view_refreshes_total", view="player_agg", way="incremental") == 2
    assert value(registry, "view_refreshes_total", view="player_agg", way="full") == 1
    assert (
        value(registry, "view_refresh_phase_seconds_total", view="player_agg", phase="job") == 1.5
    )
    assert value(registry, "view_refresh_last_seconds", view="player_agg") == 2
    assert value(registry, "view_rows_read_total", view="player_agg") == 60
    assert value(registry, "view_refreshed_timestamp_seconds", view="player_agg") == AT.timestamp()


def test_a_refresh_that_failed_is_counted(registry, counted):
    counted.failure(ViewFailed(feed="games", view="player_agg", reason="no such column"))
    assert value(registry, "view_failures_total", view="player_agg") == 1


def test_no_label_is_a_key(registry, counted):
    counted.batch(DEMUXED)
    labels = {name for metric in registry.collect() for s in metric.samples for name in s.labels}
    known = {"feed", "stage", "outcome", "result", "phase", "le", "view", "way", "expectation"}
    assert labels == known
