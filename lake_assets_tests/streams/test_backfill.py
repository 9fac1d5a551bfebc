import pytest

from lake_assets.errors import FeedError
from lake_assets.model.reports import (
    BatchReport,
    GoldRefreshed,
    Refreshed,
    RefreshReport,
    Stage,
    ViewRefresh,
)
from lake_assets.streams.backfill import BackfillTally, ensure_backfillable
from lake_assets.streams.run import Tick
from lake_assets_tests.sample import GAMES


def batch(stage, rows, feed="old", **more):
    return BatchReport(feed=feed, stage=stage, batch_id=0, rows=rows, **more)


def test_what_batches_took_and_made_is_summed_and_what_was_refused_is_not():
    late = ViewRefresh(key="uno", view="minutes", rows=1, silver_version=3, late_rows=2)
    refreshed = Refreshed(reports=[RefreshReport(refreshed=(late,), up_to_date=())])
    tally = BackfillTally(feed="old", owner="plays")
    for event in (
        Tick(),
        batch(Stage.INGEST, {"bronze_old": 3}, lag_rows=4),
        batch(Stage.INGEST, {"bronze_old": 2}),
        batch(Stage.DEMUX, {"silver_uno_events": 3, "quarantine_old": 1}, dropped={"uno": 1}),
        batch(Stage.DEMUX, {"silver_uno_events": 9}, is_committed=False),
        GoldRefreshed(feed="plays", refreshed=refreshed),
        batch(Stage.INGEST, {"bronze_plays": 5}, feed="plays", lag_rows=9),
        batch(Stage.DEMUX, {"silver_uno_events": 5}, feed="plays"),
        GoldRefreshed(feed="others", refreshed=refreshed),
    ):
        tally.add(event)
    assert (tally.taken, tally.left, tally.dropped) == (5, 4, 1)
    assert tally.rows == {"silver_uno_events": 3, "quarantine_old": 1}
    assert tally.late == {"minutes": 2}


def test_a_topic_has_no_end_to_be_backfilled_to():
    with pytest.raises(FeedError, match="no folder of files and no Delta table"):
        ensure_backfillable(GAMES)
