from lake_assets.cli import refresh as command
from lake_assets.model.reports import Mode, RefreshReport, ViewRefresh
from lake_assets.model.tables import EVERY_KEY
from lake_assets_tests.commandline import sparkless_here


def test_an_unknown_view_is_refused_with_those_there_are(settings):
    done = sparkless_here(settings, "refresh", "--view", "nothing")
    assert done.returncode == 1
    views = "player_agg, daily_activity, activity_by_minute, leaderboard, suspicious_players"
    assert done.stderr == f"error: feed 'games': has no gold view 'nothing'. It has {views}\n"


def test_an_unknown_key_is_refused_with_those_there_are(settings):
    done = sparkless_here(settings, "refresh", "--game", "chess")
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
    command.show_report(report)
    said = capsys.readouterr()
    assert said.out == f"player_agg of uno: 1,234 rows (incremental: {why})\n"
    assert said.err == f"poker is left as it is: {blocked['poker']}\n"


def test_a_view_over_all_games_is_told_of_as_one(capsys):
    done = ViewRefresh(key=EVERY_KEY, view="top", rows=5, silver_version=None)
    command.show_report(RefreshReport(refreshed=(done,), up_to_date=()))
    held = RefreshReport(refreshed=(), up_to_date=(), blocked={EVERY_KEY: "uno: some fails"})
    command.show_report(held)
    said = capsys.readouterr()
    assert said.out == "top of all keys: 5 rows\n"
    assert said.err == "the view is left as it is: uno: some fails\n"
