import pytest

from lake_assets.gold.view_columns import view_columns_of
from lake_assets.model.gold_views import GoldView
from lake_assets_tests.sample import GAMES


def reads(column, keys=("gamer_id",), **measures):
    return view_columns_of(GAMES, view(keys, measures)).may_have(column)


def view(keys, measures, **more):
    return GoldView(name="v", keys=keys, measures=measures or {"n": "count(*)"}, **more)


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("sum(points)", "points"),
        ("sum(Points)", "points"),
        ("sum(`the points`)", "the points"),
        ("sum(`a``b`)", "a`b"),
        ("max(owner.points)", "owner"),
        ("count(*) filter (where battery*2 > 1)", "battery"),
        ("count(distinct *)", "whatever"),
        ("max(struct(*))", "whatever"),
        ("max(hash(1, *))", "whatever"),
    ],
)
def test_a_column_that_may_be_read(sql, column):
    assert reads(column, n=sql)


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("sum(points)", "point"),
        ("sum(points_2)", "points"),
        ("count( * )", "battery"),
        ("COUNT(*) filter (where 2 * a > 1)", "battery"),
        ("sum(2 * (a) * 3)", "battery"),
    ],
)
def test_a_column_that_is_not_read(sql, column):
    assert not reads(column, n=sql)


def test_keys_the_route_and_the_time_of_windows_are_read():
    windows = {"time": "event_timestamp", "every": "1m", "watermark": "10s"}
    found = view_columns_of(GAMES, view({"who": "lower(gamer_id)"}, {}, windows=windows))
    assert all(map(found.may_have, ("gamer_id", "event_timestamp", "game_name")))
    assert not found.may_have("who")


@pytest.mark.parametrize(
    "declared",
    [
        {"sql": "select count(*) as n from silver"},
        {"keyed": {"by": "gamer_id", "order": "event_timestamp"}},
    ],
)
def test_free_sql_and_keyed_tables_may_read_all(declared):
    query = GoldView.model_validate({"name": "v", **declared})
    assert view_columns_of(GAMES, query).may_have("battery")
