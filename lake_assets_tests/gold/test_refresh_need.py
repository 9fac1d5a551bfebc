from dataclasses import replace

import pytest

from lake_assets.delta.refresh_position import STATE_FORMAT, Position, position_from
from lake_assets.gold.refresh_need import (
    Silver,
    definition_of,
    info_of,
    is_behind,
    unmergeable,
    why_full,
)
from lake_assets.model.checks import GoldCheck
from lake_assets.model.expectations import Action, Expectation
from lake_assets_tests.sample import GAMES

VIEW = GAMES.gold[0]
SESSION = "a session"
HASH = definition_of(VIEW, SESSION)
SILVER = Silver(version=12, table="one", commit="the twelfth")
LATER = Silver(version=20, table="one", commit="the twentieth")
POSITION = Position(
    silver_version=12,
    definition=HASH,
    silver_table="one",
    silver_commit="the twelfth",
    states=STATE_FORMAT,
    buckets=4,
)


def test_a_view_that_never_was_is_behind():
    assert is_behind(HASH, SILVER, None)


@pytest.mark.parametrize(
    ("change", "behind"),
    [
        ({}, False),
        ({"version": 13}, True),
        ({"version": 11}, True),
        ({"table": "another"}, True),
        ({"commit": "another twelfth"}, True),
        ({"commit": ""}, True),
    ],
)
def test_a_view_is_behind_unless_it_stands_for_its_silver(change, behind):
    assert is_behind(HASH, replace(SILVER, **change), POSITION) is behind


def test_a_view_that_is_defined_anew_is_behind():
    assert is_behind("another", SILVER, POSITION)


def test_a_schedule_is_no_part_of_a_definition():
    assert definition_of(VIEW.model_copy(update={"schedule": None}), SESSION) == HASH


def test_a_check_is_no_part_of_a_definition():
    checks = (GoldCheck(name="all", equals_source="session_count"),)
    assert definition_of(VIEW.model_copy(update={"checks": checks}), SESSION) == HASH


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"keys": {"device_id": "device_id"}}, {"measures": {"n": "count(1)"}}],
)
def test_what_a_view_computes_is_its_definition(change):
    assert definition_of(VIEW.model_copy(update=change), SESSION) != HASH


def test_the_session_that_computes_a_view_is_part_of_its_definition():
    assert definition_of(VIEW, "another session") != HASH


def test_a_position_that_does_not_tell_the_table_is_told_by_its_commit():
    assert not is_behind(HASH, SILVER, replace(POSITION, silver_table=""))


def test_a_position_comes_back_from_a_commits_metadata():
    found = info_of(HASH, SILVER, states=STATE_FORMAT, buckets=4)
    assert position_from({"operation": "WRITE", **found}) == POSITION


def test_a_view_that_stands_for_an_earlier_version_of_its_silver_may_be_merged():
    assert why_full(HASH, LATER, POSITION, "the twelfth") == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"definition": "x"}, "the view, Spark's settings or its version changed"),
        ({"states": 0}, "no states of this release"),
        ({"silver_table": "another"}, "silver is another table"),
        ({"silver_version": 21}, "silver is at an older version"),
        ({"silver_commit": "another"}, "silver was restored: its version 12 is another one"),
        ({"silver_commit": ""}, "silver was restored: its version 12 is another one"),
    ],
)
def test_what_a_position_does_not_fit_is_a_reason_to_recompute(change, reason):
    assert reason in why_full(HASH, LATER, replace(POSITION, **change), "the twelfth")


def test_a_version_that_silvers_log_forgot_is_a_reason_to_recompute():
    assert why_full(HASH, LATER, POSITION, "") == "silver's log has no version 12 any more"


def test_no_position_is_a_reason_to_recompute():
    assert "no refresh" in why_full(HASH, LATER, None, "")


@pytest.mark.parametrize(
    ("action", "reason"),
    [(Action.WARN, ""), (Action.FAIL, ""), (Action.DROP, "few drops rows, and with them what")],
)
def test_only_a_view_that_drops_rows_cannot_be_merged(action, reason):
    few = Expectation(name="few", sql="session_count < 3", action=action)
    found = unmergeable(VIEW.model_copy(update={"expectations": (few,)}))
    assert found.startswith(reason)
    assert bool(found) is bool(reason)
