from dataclasses import replace

import pytest

from lake_assets.gold.measures import STATE_FORMAT
from lake_assets.gold.plan import Silver, definition_of, info_of, is_behind, unmergeable, why_full
from lake_assets.lake.standing import DEFINITION, SILVER_VERSION, Position, position_from
from lake_assets.model.checks import GoldCheck
from lake_assets.model.feeds import Action, Expectation
from lake_assets_tests.sample import GAMES

VIEW = GAMES.gold[0]
HASH = definition_of(VIEW)
SILVER = Silver(version=20, table="one")
POSITION = Position(
    silver_version=12, definition=HASH, silver_table="one", states=STATE_FORMAT, buckets=4
)
ANEW = VIEW.model_copy(update={"measures": {"n": "count(*)"}})


def test_a_view_that_never_was_is_behind():
    assert is_behind(VIEW, 3, None)


@pytest.mark.parametrize(("silver_version", "behind"), [(3, False), (4, True), (2, True)])
def test_a_view_is_behind_unless_it_stands_for_its_silver(silver_version, behind):
    position = Position(silver_version=3, definition=definition_of(VIEW))
    assert is_behind(VIEW, silver_version, position) is behind


def test_a_view_that_is_defined_anew_is_behind():
    assert is_behind(ANEW, 3, Position(silver_version=3, definition=definition_of(VIEW)))


def test_a_schedule_is_no_part_of_a_definition():
    assert definition_of(VIEW.model_copy(update={"schedule": None})) == definition_of(VIEW)


def test_a_check_is_no_part_of_a_definition():
    checks = (GoldCheck(name="all", equals_source="session_count"),)
    assert definition_of(VIEW.model_copy(update={"checks": checks})) == definition_of(VIEW)


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"keys": {"device_id": "device_id"}}, {"measures": {"n": "count(1)"}}],
)
def test_what_a_view_computes_is_its_definition(change):
    assert definition_of(VIEW.model_copy(update=change)) != definition_of(VIEW)


def test_silver_that_was_made_anew_puts_a_view_behind():
    position = position_from(info_of(VIEW, 3, silver_table="one"))
    assert is_behind(VIEW, 3, position, "another")
    assert not is_behind(VIEW, 3, position, "one")


def test_a_position_of_an_earlier_release_does_not_tell_the_table():
    assert not is_behind(VIEW, 3, position_from({SILVER_VERSION: "3", DEFINITION: HASH}), "one")


def test_a_position_comes_back_from_a_commits_metadata():
    found = info_of(VIEW, 12, silver_table="one", states=STATE_FORMAT, buckets=4)
    assert position_from({"operation": "WRITE", **found}) == POSITION


def test_a_view_that_stands_for_an_earlier_version_of_its_silver_may_be_merged():
    assert why_full(VIEW, SILVER, POSITION) == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"definition": "x"}, "the view is defined anew"),
        ({"states": 0}, "no states of this release"),
        ({"silver_table": "another"}, "silver is another table"),
        ({"silver_version": 21}, "silver is at an older version"),
    ],
)
def test_what_a_position_does_not_fit_is_a_reason_to_recompute(change, reason):
    assert reason in why_full(VIEW, SILVER, replace(POSITION, **change))


def test_no_position_is_a_reason_to_recompute():
    assert "no refresh" in why_full(VIEW, SILVER, None)


@pytest.mark.parametrize(
    ("action", "reason"),
    [(Action.WARN, ""), (Action.FAIL, ""), (Action.DROP, "few drops rows, and with them what")],
)
def test_only_a_view_that_drops_rows_cannot_be_merged(action, reason):
    few = Expectation(name="few", sql="session_count < 3", action=action)
    found = unmergeable(VIEW.model_copy(update={"expectations": (few,)}))
    assert found.startswith(reason)
    assert bool(found) is bool(reason)
