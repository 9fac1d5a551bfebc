"""What sinks record, and the upkeep of it, without any sink that runs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lake_assets.delta.commit import Batch
from lake_assets.delta.increments import Point
from lake_assets.maintenance.holds import holds_of
from lake_assets.maintenance.run import maintain
from lake_assets.model.tables import deliveries_of
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.sinks.deliveries import Deliveries, Progress
from lake_assets.sinks.erased_letters import without_erased
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.erasing_fence import letters_of, while_none_is_planned
from lake_assets_tests.clock import wall_clock
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import gold_of, silver_of
from lake_assets_tests.sinks.lakes import feed_with_sink, outcome, recorded

FEED = feed_with_sink("https://example.com/sessions", retention="30d")
TABLE = deliveries_of("games", "api")


@pytest.fixture
def deliveries(settings):
    with open_lake(settings) as context:
        yield Deliveries(context, TABLE)


def _upkeep(settings, feed=FEED, **limits):
    made = settings.model_copy(update={"maintenance": MaintenanceSettings(**limits)})
    return next((one for one in maintain(made, feed) if one.table == TABLE), None)


def _offsets(settings):
    return sorted(row["offset"] for row in recorded(settings, FEED))


def test_old_entries_leave_and_the_position_stays(settings, deliveries):
    with wall_clock() as clock:
        clock.ahead = timedelta(days=-40)
        deliveries.record(1, [outcome(1), outcome(2, is_delivered=False)], None)
        clock.ahead = timedelta(days=-10)
        deliveries.record(1, [outcome(3)], Progress(batch=1, points={}))
        clock.ahead = timedelta()
        deliveries.record(2, [outcome(4)], None)
    assert _upkeep(settings, feed_with_sink("https://example.com/sessions")).old_rows == 0
    assert _upkeep(settings).old_rows == 2
    assert _offsets(settings) == [3, 4]
    with open_lake(settings) as context:
        again = Deliveries(context, TABLE)
        assert again.batch == 1
        again.record(2, [outcome(5)], None)


def test_a_clock_that_is_ahead_makes_no_entry_old(settings, deliveries):
    deliveries.record(1, [outcome(1)], None)
    with wall_clock() as clock:
        clock.ahead = timedelta(days=365)
        assert _upkeep(settings).old_rows == 0
    assert _offsets(settings) == [1]


def test_files_are_joined_while_a_sink_goes_on(settings, deliveries):
    for offset in range(12):
        deliveries.record(1, [outcome(offset)], None)
    upkeep = _upkeep(settings, join_at_files=10)
    assert (upkeep.joined, upkeep.into) == (12, 1)
    deliveries.record(1, [outcome(12)], None)
    assert _offsets(settings) == list(range(13))


def test_a_table_of_no_sink_yet_is_left_out(settings):
    assert _upkeep(settings) is None


@pytest.mark.usefixtures("deliveries")
def test_what_a_sink_has_not_looked_at_is_held(settings):
    add_silver(settings.lake_dir, "uno", "ann")
    uno = silver_of("uno")
    first = settings.lake_dir / uno.relative / "_delta_log" / f"{0:020}.json"
    held = holds_of(settings, FEED)[uno]
    assert held["sink api is behind"] == pytest.approx(first.stat().st_mtime)


def test_what_is_recorded_is_told_whoever_did_it(settings, deliveries):
    uno, digest = silver_of("uno").relative, "abc"
    assert (deliveries.point_of(uno), deliveries.told("other")) == (Point(), None)
    points = {uno: Point(version=3, digest=digest)}
    deliveries.record(1, [outcome(1)], Progress(batch=1, points=points, notes=[Batch("other", 7)]))
    deliveries.look_again()
    assert (deliveries.point_of(uno), deliveries.told("other")) == (points[uno], 7)
    with open_lake(settings) as context:
        Deliveries(context, TABLE).note([Batch("other", 8)])
    deliveries.look_again()
    assert (deliveries.point_of(uno), deliveries.told("other")) == (points[uno], 8)


def test_entries_of_a_view_that_the_sink_followed_once_are_not_read(settings, deliveries):
    deliveries.record(1, [outcome(1, table=gold_of("uno", "best"))], None)
    (of_view,) = (settings.lake_dir / TABLE.relative).glob("*.parquet")
    deliveries.record(1, [outcome(2)], Progress(batch=1, points={}))
    of_view.rename(of_view.with_name("away"))
    with open_lake(settings) as context:
        again = Deliveries(context, TABLE)
    before, own = again.is_recorded(outcome(2).call.rows, 2)
    assert (before.tolist(), own.tolist()) == ([True], [False])


def test_a_letter_of_a_row_that_was_erased_meanwhile_quotes_nothing(settings, deliveries):
    """Its call was made before."""
    quoting = replace(outcome(1, is_delivered=False), reason="no ann", request="ann")
    other = replace(outcome(2, is_delivered=False), reason="no bob", request="bob")
    with open_lake(settings) as context:
        context.erasures.record("games", "one", {("t", 0): [(1, 2)]})
    deliveries.record(1, [quoting, other, outcome(3)], None)
    told = {row["offset"]: (row["reason"], row["request"]) for row in recorded(settings, FEED)}
    assert told == {1: ("erased", None), 2: ("no bob", "bob"), 3: (None, None)}


def test_who_erases_waits_for_letters_that_are_being_recorded(settings):
    letter = outcome(1, is_delivered=False)

    def is_passed():
        fence = while_none_is_planned(settings.state_dir, letters_of("games"), within_s=0.1)
        with fence as passed:
            return passed

    with open_lake(settings) as context, without_erased(context.erasures, TABLE, [letter]):
        assert not is_passed()
    assert is_passed()
