import json

import pytest

from lake_assets.model.reports import (
    BatchReport,
    GoldRefreshed,
    Refreshed,
    RefreshReport,
    Stage,
    ViewFailed,
    ViewRefresh,
    Waiting,
)
from lake_assets.runtime.log_lines import log_lines
from lake_assets.settings.upkeep import LogFormat
from lake_assets.streams.event_log import EventLog
from lake_assets.streams.run import Tick

DEMUXED = BatchReport(
    feed="games",
    stage=Stage.DEMUX,
    batch_id=7,
    rows={"silver_uno_events": 1200, "quarantine_games": 3},
    dropped={"uno": 2},
    seconds={"job": 0.51234567, "commit": 0.1},
    files=2,
)
WAITING = Waiting(feed="games", stage=Stage.INGEST, reason="no broker")
REFRESH = RefreshReport(
    refreshed=(
        ViewRefresh(key="uno", view="player_agg", rows=7, silver_version=3, rows_read=1200),
        ViewRefresh(key="go_fish", view="player_agg", rows=7, silver_version=3, rows_read=34),
    ),
    up_to_date=(),
    seconds={"job": 1.0, "commit": 0.5},
)
REFRESHED = GoldRefreshed(feed="games", refreshed=Refreshed(reports=[REFRESH]))
FAILED = ViewFailed(feed="games", view="player_agg", reason="no column x")


@pytest.fixture
def said(capsys):
    def say(form, *events):
        log = EventLog()
        with log_lines(form):
            for event in events:
                log.add(event)
        return capsys.readouterr().err.splitlines()

    return say


def test_people_read_a_sentence_an_event(said):
    assert said(LogFormat.TEXT, DEMUXED, REFRESHED, FAILED, Tick()) == [
        "games demux batch 7: 1,203 rows into 2 tables in 0.6 s",
        "games view player_agg: 1,234 rows into 2 tables in 1.5 s",
        "error: view player_agg of games: no column x (feed games, stage refresh, view player_agg)",
    ]


def test_programs_read_the_facts_of_a_batch(said):
    (line,) = said(LogFormat.JSON, DEMUXED)
    facts = json.loads(line)
    assert {name: facts[name] for name in ("feed", "stage", "batch", "rows", "dropped")} == {
        "feed": "games",
        "stage": "demux",
        "batch": 7,
        "rows": 1203,
        "dropped": 2,
    }
    assert facts["seconds"] == {"job": 0.5123, "commit": 0.1}
    assert "table" not in facts


def test_a_batch_of_one_table_names_it(said):
    ingested = BatchReport(feed="games", stage=Stage.INGEST, batch_id=1, rows={"bronze_games": 5})
    (line,) = said(LogFormat.JSON, ingested)
    assert json.loads(line)["table"] == "bronze_games"


def test_the_same_waiting_is_said_once_until_a_batch_comes(said):
    again = said(LogFormat.TEXT, WAITING, WAITING, DEMUXED, WAITING)
    assert [line for line in again if line.startswith("waiting")] == ["waiting: no broker"] * 2


def test_a_refresh_that_found_nothing_to_do_is_not_said(said):
    idle = RefreshReport(refreshed=(), up_to_date=(("uno", "player_agg"),))
    nothing = GoldRefreshed(feed="games", refreshed=Refreshed(reports=[idle]))
    assert said(LogFormat.TEXT, nothing) == []
