import logging

from lake_assets.model.checks import Severity
from lake_assets.model.reports import BatchReport, Judged, Stage
from lake_assets.state.failing_expectations import read_failures
from lake_assets.streams.expectation_results import FailureBook, tee, verdicts_of
from lake_assets_tests.sample import GAMES


def report(**violated):
    judged = {("uno", name): Judged(seen=4, violated=count) for name, count in violated.items()}
    return BatchReport(feed="games", stage=Stage.DEMUX, batch_id=1, rows={}, judged=judged)


def test_a_games_last_batch_tells_what_fails(settings):
    book = FailureBook(settings, [GAMES])
    book.note(report(gamer_is_known=1, device_is_known=0))
    failures = read_failures(settings.state_dir, "games")
    assert set(failures) == {("uno", "gamer_is_known")}
    assert failures[("uno", "gamer_is_known")].words == "1 of 4 rows violate it (25 %)"
    book.note(report(gamer_is_known=0))
    assert read_failures(settings.state_dir, "games") == {}


def test_a_batch_without_rows_of_a_game_changes_nothing(settings):
    book = FailureBook(settings, [GAMES])
    book.note(report(gamer_is_known=1))
    book.note(report())
    assert set(read_failures(settings.state_dir, "games")) == {("uno", "gamer_is_known")}


def test_what_is_not_expected_any_more_is_no_verdict():
    (one,) = verdicts_of(GAMES, report(gone=1, device_is_known=2))
    assert (one.key, one.name, one.severity) == ("uno", "device_is_known", Severity.WARN)


def test_a_file_that_cannot_be_written_stops_no_batch(settings, caplog):
    settings.state_dir.mkdir(parents=True)
    (settings.state_dir / "failing").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        FailureBook(settings, [GAMES]).note(report(gamer_is_known=1))
    assert "what fails could not be noted" in caplog.text


def test_all_are_told_in_their_order():
    told = []
    one = report()
    tee(lambda found: told.append((1, found)), lambda found: told.append((2, found)))(one)
    assert told == [(1, one), (2, one)]
