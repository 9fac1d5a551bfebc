import pytest

from lake_assets.model.feeds import Feed
from lake_assets.model.owners import Owner, owner_of_view
from lake_assets.model.tables import EVERY_KEY, bronze_of, quarantine_of
from lake_assets.model.upstream import upstream_of


def feed_of(name="play", **told):
    usual = {
        "feed": name,
        "source": {"kafka": {"topic": name}},
        "payload": {"json": {"schema": "kind string, ante int"}},
    }
    return Feed.model_validate({**usual, **told})


ROUTE = {"column": "kind", "keys": ["uno"]}


def read(feed, table, owner, *others):
    feeds = [feed, *others]
    found = upstream_of(feed.beside(feeds), feeds, table, owner)
    return [str(one.relative) for one in found]


def test_bronze_is_of_no_table_and_quarantine_of_bronze():
    feed = feed_of()
    owner = Owner(feed="play")
    assert read(feed, bronze_of("play"), owner) == []
    assert read(feed, quarantine_of("play"), owner) == ["bronze/bronze_play"]


def test_silver_is_of_the_bronze_of_all_feeds_that_fill_it():
    feed, old = feed_of(), feed_of("old", into="play")
    owner = Owner(feed="play", key="play")
    assert read(feed, feed.silver_table("play"), owner, old) == [
        "bronze/bronze_play",
        "bronze/bronze_old",
    ]


@pytest.mark.parametrize(
    ("sql", "upstream"),
    [
        ("select * from silver", ["silver/silver_uno_events"]),
        ("select * from silver_all", ["silver/silver_{key}_events"]),
        ("select * from gold.best", ["gold/gold_uno_best"]),
        ("select * from gold_all.best b join gold_all.total", 2 * ["x"]),
        ("select * from other.silver", ["silver/silver_other_events"]),
        (
            "select * from silver s join external.players p",
            ["external/players", "silver/silver_uno_events"],
        ),
    ],
)
def test_a_view_is_of_what_it_reads(sql, upstream):
    best = {"name": "best", "keys": ["kind"], "measures": {"n": "count(*)"}}
    total = {"name": "total", "sql": "select count(*) as n from gold_all.best"}
    view = {"name": "view", "sql": sql}
    feed = feed_of(
        route=ROUTE, gold=[best, total, view], external={"players": {"delta": "/data/players"}}
    )
    scope = EVERY_KEY if feed.view("view").is_over_all else "uno"
    table = feed.gold_table(feed.view("view"), scope)
    found = read(feed, table, owner_of_view(feed, "view", scope), feed_of("other"))
    if upstream == 2 * ["x"]:
        upstream = ["gold/gold_{key}_best", "gold/all_play_total"]
    assert sorted(found) == sorted(upstream)


def test_a_view_that_is_declared_no_more_is_of_nothing_that_is_known():
    feed = feed_of(route=ROUTE, gold=[{"name": "was", "sql": "select 1 as n from silver"}])
    table = feed.gold_table(feed.gold[0], "uno")
    assert read(feed_of(route=ROUTE), table, Owner(feed="play", key="uno", view="was")) == []
