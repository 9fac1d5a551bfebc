import pytest

from lake_assets.model.flows import (
    beside_it,
    fillers,
    filling,
    flows_into,
    is_shared,
    origin_of,
    tables_owner,
)
from lake_assets.model.origins import FeedRows
from lake_assets_tests.sample import GAMES, WITHOUT_ROUTE

TWIN = GAMES.model_copy(
    update={"feed": "twin", "into": "games", "route": None, "gold": (), "expectations": ()}
)


@pytest.fixture
def games():
    return GAMES.beside([GAMES, TWIN])


@pytest.fixture
def twin():
    return filling(TWIN, GAMES).beside([GAMES, TWIN])


def test_a_feed_has_what_is_of_the_tables_from_the_one_that_has_them(twin):
    assert (twin.route, twin.expectations) == (GAMES.route, GAMES.expectations)
    assert twin.silver_table("uno") == GAMES.silver_table("uno")
    assert (twin.gold, twin.feed) == ((), "twin")


def test_without_a_route_the_one_key_is_called_as_the_feed_that_has_the_tables():
    flow = filling(TWIN.model_copy(update={"into": "clicks"}), WITHOUT_ROUTE)
    assert flow.keys == ("clicks",)


def test_the_tables_are_of_the_one_that_declares_them(games, twin):
    assert [tables_owner(feed) for feed in (games, twin, GAMES)] == ["games"] * 3
    assert [is_shared(feed) for feed in (games, twin, GAMES)] == [True, True, False]
    assert [flow.feed for flow in flows_into(games)] == ["twin"]
    assert flows_into(twin) == ()


def test_each_feed_knows_who_fills_its_tables_beside_it(games, twin):
    third = TWIN.model_copy(update={"feed": "third"})
    twin = twin.beside([games, third])
    assert (beside_it(games), beside_it(twin)) == (("twin",), ("games", "third"))
    assert fillers(games) == ("games", "twin")
    assert fillers(GAMES) == ("games",)


def test_rows_that_name_no_feed_are_of_the_one_that_has_the_tables(games, twin):
    assert origin_of(games).whose == FeedRows(feed="games", has_unnamed=True, is_named=True)
    assert origin_of(twin).whose == FeedRows(feed="twin", has_unnamed=False, is_named=True)
    assert origin_of(GAMES).whose == FeedRows(feed="games", has_unnamed=True, is_named=False)
    assert origin_of(games).identity == GAMES.source.origin.identity
