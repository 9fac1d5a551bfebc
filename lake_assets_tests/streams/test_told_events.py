import pytest

from lake_assets.model.origins import Origin
from lake_assets.model.reports import (
    BatchReport,
    DeliveryReport,
    GoldRefreshed,
    Judged,
    Refreshed,
    RefreshReport,
    SinkFailed,
    Span,
    Stage,
    ViewFailed,
    ViewRefresh,
    Waiting,
)
from lake_assets.streams.told_events import event_of, line_of

EXAMPLE = Origin(name="topic", partition=1, offset=7)

EVENTS = [
    BatchReport(
        feed="a",
        stage=Stage.DEMUX,
        batch_id=3,
        rows={"silver_uno_events": 2, "silver_\u2028\n_events": 1},
        dropped={"uno": 1},
        judged={("uno", "known"): Judged(seen=2, violated=1, examples=(EXAMPLE,))},
        seconds={"job": 0.5},
        files=2,
        span=Span(
            query="q",
            offsets_from={("t", 0): 1},
            offsets_to={("t", 0): 9},
            version_from=3,
            version_to=4,
        ),
        is_committed=False,
        lag_rows=7,
        lag_s=1.5,
    ),
    BatchReport(feed="a", stage=Stage.INGEST, batch_id=0, rows={}),
    Waiting(feed="a", stage=Stage.INGEST, reason="no broker"),
    ViewFailed(feed="a", view="v", reason="no"),
    SinkFailed(feed="a", sink="s", reason="no"),
    DeliveryReport(
        feed="a",
        sink="s",
        rows=3,
        calls=2,
        retries=1,
        dead_rows=1,
        failed_tries=4,
        batches=1,
        seconds=0.5,
        latency_s={"p50": 0.1},
    ),
    GoldRefreshed(
        feed="a",
        refreshed=Refreshed(
            reports=[
                RefreshReport(
                    refreshed=(ViewRefresh(key="uno", view="v", rows=1, silver_version=3),),
                    up_to_date=(("go", "v"),),
                    judged={("uno", "some"): Judged(seen=1, violated=0)},
                )
            ],
            silver_checks=(),
            gold_checks={"v": ()},
        ),
    ),
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_the_same_at_the_other_end(event):
    line = line_of(event)
    assert "\n" not in line
    again = event_of(line)
    assert line_of(again) == line
    if isinstance(event, GoldRefreshed):
        assert again.refreshed.reports == event.refreshed.reports
    else:
        assert again == event


@pytest.mark.parametrize("line", ["", "torn", "{}", '{"batch": 1}', "[]", '{"gold": ["a", "x"]}'])
def test_what_is_no_event_is_said(line):
    with pytest.raises(ValueError, match=r"."):
        event_of(line)
