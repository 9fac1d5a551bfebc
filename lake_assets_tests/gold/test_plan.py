import pytest

from lake_assets.gold.plan import definition_of, info_of, is_behind
from lake_assets.lake.standing import Position, position_from
from lake_assets.model.checks import GoldCheck
from lake_assets_tests.sample import GAMES

VIEW = GAMES.gold[0]
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


def test_a_position_comes_back_from_a_commits_metadata():
    info = {"operation": "WRITE", **info_of(VIEW, 12)}
    assert position_from(info) == Position(silver_version=12, definition=definition_of(VIEW))
