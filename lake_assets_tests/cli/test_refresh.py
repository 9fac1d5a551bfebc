import pytest

from lake_assets.cli import refresh as command
from lake_assets.cli.answer import ExitCode, code_of
from lake_assets.model.checks import Severity
from lake_assets.model.reports import CheckResult, Mode, Refreshed, RefreshReport, ViewRefresh
from lake_assets.model.tables import EVERY_KEY, Layer, TableRef
from lake_assets_tests.commandline import sparkless_here
from lake_assets_tests.sample import GAMES


def test_an_unknown_view_is_refused_with_those_there_are(settings):
    done = sparkless_here(settings, "refresh", "--view", "nothing")
    assert done.returncode == 1
    views = "player_agg, daily_activity, activity_by_minute, leaderboard, suspicious_players"
    assert done.stderr == f"error: feed 'games': has no gold view 'nothing'. It has {views}\n"


def test_an_unknown_key_is_refused_with_those_there_are(settings):
    done = sparkless_here(settings, "refresh", "--key", "chess")
    assert done.returncode == 1
    assert done.stderr.startswith("error: feed 'games': has no key 'chess'. It has rummy, spades")


def test_a_game_that_is_held_up_is_named_with_its_reason(capsys):
    why = "silver gained 2 files since"
    done = ViewRefresh(
        key="uno",
        view="player_agg",
        rows=1234,
        silver_version=3,
        mode=Mode.INCREMENTAL,
        why=why,
    )
    blocked = {"poker": "known fails since 2026-11-21 01:02:03 UTC (1 of 2 rows violate it)"}
    report = RefreshReport(refreshed=(done,), up_to_date=(), blocked=blocked)
    found = Refreshed(reports=[report])
    command.show(found)
    assert capsys.readouterr().out == f"player_agg of uno: 1,234 rows (incremental: {why})\n"
    (held,) = command.problems_of([(GAMES, found)])
    assert held.words == f"feed games, poker: is left as it is: {blocked['poker']}"
    assert code_of([held]) == ExitCode.BLOCKED


def test_a_view_over_all_games_is_told_of_as_one(capsys):
    done = ViewRefresh(key=EVERY_KEY, view="top", rows=5, silver_version=None)
    held = RefreshReport(refreshed=(), up_to_date=(), blocked={EVERY_KEY: "uno: some fails"})
    found = Refreshed(reports=[RefreshReport(refreshed=(done,), up_to_date=()), held])
    command.show(found)
    assert capsys.readouterr().out == "top of all keys: 5 rows\n"
    (problem,) = command.problems_of([(GAMES, found)])
    assert problem.words == "feed games, the view: is left as it is: uno: some fails"


@pytest.mark.parametrize(
    ("severity", "code"), [(Severity.ERROR, ExitCode.CHECK), (Severity.WARN, ExitCode.OK)]
)
def test_a_check_of_gold_that_fails_gives_its_code_by_its_severity(severity, code):
    view = ViewRefresh(key="uno", view="agg", rows=5, silver_version=1)
    failing = CheckResult(
        key="uno",
        table=TableRef(layer=Layer.GOLD, name="gold_uno_agg"),
        name="few",
        severity=severity,
        passed=False,
        found=9.0,
        limit="at most 5",
        words="9 rows, at most 5",
        version=1,
    )
    report = RefreshReport(refreshed=(view,), up_to_date=())
    found = Refreshed(reports=[report], gold_checks={"agg": [failing]})
    (problem,) = problems = list(command.problems_of([(GAMES, found)]))
    assert problem.words == "check few of gold_uno_agg: fails: 9 rows, at most 5"
    assert code_of(problems) == code
    (told,) = command.as_result([(GAMES, found)])
    assert [one["passed"] for one in told["checks"]] == [False]
