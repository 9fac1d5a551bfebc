"""Three simulated days of two games; the benchmark itself simulates a month of a hundred."""

import dagster as dg
import pytest

from benchmarks.dagster_month import Month, simulate

pytestmark = pytest.mark.bench

SMALL = Month(games=2, days=3, reports=3, refreshes=2, keep_days=1)


@pytest.fixture
def evenings(settings, tmp_path):
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield list(simulate(instance, home, settings, SMALL))


def test_a_month_ends_as_it_was_when_the_first_run_was_purged(evenings):
    assert [evening["day"] for evening in evenings] == [1, 2, 3]
    assert evenings[0]["events"] < evenings[1]["events"] == evenings[2]["events"]
    # The first day's: two runs of a refresh, and one of the streams.
    assert [evening["purged_runs"] > 0 for evening in evenings] == [False, False, True]
    assert all(evening["gb"] > 0 for evening in evenings)


def test_a_days_events_are_those_of_its_reports(evenings):
    """Of a game and report, silver with two checks and a live view; of a refresh, two views."""
    reports, refreshes = 3 * 2 * (1 + 2 + 1), 2 * 2 * 2
    added = evenings[1]["events"] - evenings[0]["events"]
    # Beside them, a few that tell of a run's state.
    assert reports + refreshes <= added <= reports + refreshes + 12
