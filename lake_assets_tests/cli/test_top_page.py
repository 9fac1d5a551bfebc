from rich.console import Console

from lake_assets.cli.top_page import page
from lake_assets.metrics.snapshot import FeedLine, Snapshot, StageLine

STAGE = StageLine(rows_per_s=0, batches_per_s=0, phases={}, lag_rows=7, lag_s=2000)


def shown(stops=None, **facts):
    feed = FeedLine(feed="hourly", ingest=STAGE, demux=STAGE, quarantine_share=0, **facts)
    console = Console(width=120, record=True)
    console.print(page(Snapshot(up_s=1, feeds=(feed,), views=()), {}, "a lake", stops))
    return console.export_text(styles=True)


RED = "\x1b[31m"


def test_a_feed_with_a_schedule_says_when_it_runs_next_and_is_not_late():
    text = shown(quiet_s=None, next_run_s=720)
    assert "streams ready" in text
    assert "hourly: next run in 12 min" in text
    assert "33 min" in text
    assert RED not in text


def test_a_run_that_is_under_way_is_told():
    assert "hourly: runs now; next run in 12 min" in shown(quiet_s=1, next_run_s=720)


def test_a_feed_without_one_that_lags_so_far_is_late():
    assert RED in shown(quiet_s=1)


def test_a_feed_that_somebody_stopped_says_who_and_is_not_late():
    text = shown(quiet_s=1, stops={"hourly": "by anna on 2026-11-28 18:00 UTC"})
    assert "hourly: stopped deliberately by anna on 2026-11-28 18:00 UTC" in text
    assert "streams ready" in text
    assert RED not in text
