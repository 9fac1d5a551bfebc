from datetime import UTC, datetime

import pytest

from lake_assets.cli.answer import ExitCode, code_of
from lake_assets.cli.status import problems_of
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.checks import Severity
from lake_assets.state.failing_expectations import Verdict, note_verdicts
from lake_assets.streams.stop_request import stop_streams
from lake_assets.streams.stream_standing import StreamState
from lake_assets.supervision.status_facts import (
    CheckStatus,
    FeedStatus,
    LakeStatus,
    SinkStatus,
    StreamsState,
    StreamsStatus,
)
from lake_assets_tests.backup.lakes import FISH, UNO, BatchedLake
from lake_assets_tests.commandline import answer_of, sparkless_here

AT = datetime(2026, 11, 28, tzinfo=UTC)


def lake_of(state=StreamsState.RUNNING, *, is_wanted=True, feeds=(), failing=(), sinks=()):
    return LakeStatus(
        lake="/lake",
        streams=StreamsStatus(state=state, is_wanted=is_wanted),
        feeds=list(feeds),
        failing=list(failing),
        sinks=list(sinks),
    )


def feed_of(state=StreamState.RUNNING, detail=""):
    return FeedStatus(
        feed="games",
        state=state,
        detail=detail,
        lag_rows=0,
        lag_s=0.0,
        behind_rows=0,
        behind_s=0.0,
        last_batch_at=AT,
        rows=1,
        quarantined_rows=0,
        quarantine_share=0.0,
        waiting_rows=0,
    )


def check_of(severity):
    return CheckStatus(
        feed="games", key="uno", name="known", severity=severity, since=AT, words="1 of 2 rows"
    )


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (lake_of(), ExitCode.OK),
        (lake_of(StreamsState.WAITING), ExitCode.OK),
        (lake_of(StreamsState.ELSEWHERE), ExitCode.OK),
        (lake_of(StreamsState.NOT_RUNNING), ExitCode.ERROR),
        (lake_of(StreamsState.NOT_RUNNING, is_wanted=False), ExitCode.OK),
        (lake_of(StreamsState.STALLED), ExitCode.ERROR),
        (lake_of(StreamsState.SILENT), ExitCode.ERROR),
        (lake_of(StreamsState.STOPPED), ExitCode.OK),
        (lake_of(feeds=[feed_of(StreamState.STOPPED, "by ann")]), ExitCode.OK),
        (lake_of(feeds=[feed_of(StreamState.BLOCKED, "it failed")]), ExitCode.BLOCKED),
        (
            lake_of(sinks=[SinkStatus(sink="games.api", behind_s=0.0, dead_letters=3)]),
            ExitCode.BLOCKED,
        ),
        (lake_of(failing=[check_of(Severity.WARN)]), ExitCode.OK),
        (lake_of(failing=[check_of(Severity.ERROR)]), ExitCode.CHECK),
    ],
)
def test_the_exit_code_says_what_is_wrong(found, code):
    assert code_of(problems_of(found)) == code


def test_a_lake_is_told_on_one_screen_and_as_json(settings):
    lake = BatchedLake(settings)
    lake.ingest()
    lake.demux(UNO, FISH)
    lake.refresh()
    lake.committer.close()
    verdict = Verdict(key="uno", name="known", severity=Severity.ERROR, words="1 of 2 rows")
    note_verdicts(settings.state_dir, "games", [verdict], AT)
    done = sparkless_here(settings, "status", "--feed", "games", "--json")
    answer = answer_of(done)
    assert (done.returncode, answer["ok"]) == (1, False)
    assert [one["what"] for one in answer["problems"]] == ["streams", "known of games, uno"]
    found = answer["result"]
    assert found["streams"]["state"] == "not running"
    (feed,) = found["feeds"]
    assert (feed["lag_rows"], feed["quarantined_rows"], feed["waiting_rows"]) == (None, 0, 0)
    assert feed["last_batch_at"] is not None
    assert {one["view"]: one["tables"] for one in found["views"]}["player_agg"] == 1
    shown = sparkless_here(settings, "status", "--feed", "games").stdout
    assert "games.player_agg" in shown
    assert " ago" in shown
    assert "streams  not running" in shown
    assert "games: the lag is not known, since its source does not answer" in shown
    games = find_feed(load_feeds(settings.feeds), "games")
    stop_streams(settings, [games], by="ann", reason="a look")
    shown = sparkless_here(settings, "status", "--feed", "games").stdout
    assert "games was stopped by ann on " in shown
    assert " UTC (a look)\n" in shown
