import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds
from lake_assets.feeds.references import wrong_references
from lake_assets.model.external_tables import ExternalTable
from lake_assets.model.gold_views import GoldView
from lake_assets_tests.sample import GAMES


def feed(name, **views):
    gold = tuple(
        GoldView(name=view, sql=f"from {read} select 1 as n") for view, read in views.items()
    )
    return GAMES.model_copy(update={"feed": name, "gold": gold})


OTHER = feed("other", daily="silver", top="silver_all")


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("gold.x", "reads gold.x, and feed 'games' has no such view; it has top"),
        ("gold.top", "reads gold.top, which has one table over all keys\nwrite gold_all.top"),
        ("gone.silver", "reads gone.silver, and there is no feed 'gone'; other feeds are other"),
        (
            "other.gold.x",
            "reads other.gold.x, and feed 'other' has no such view; it has daily, top",
        ),
        ("games.silver", "of its own feed\nwrite silver_all, or silver for the key's"),
        ("games.gold.top", "of its own feed\nwrite gold_all.top, or gold.top for the key's"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(read, said):
    games = feed("games", bad=read, top="silver_all")
    ((whose, index, fact),) = wrong_references([games, OTHER])
    assert (whose.feed, index) == ("games", 0)
    assert said in fact


@pytest.mark.parametrize(
    "read", ["gold_all.top", "gold_all.daily", "gold.daily", "other.gold.daily", "other.silver"]
)
def test_what_is_there_may_be_read(read):
    games = feed("games", good=read, top="silver_all", daily="silver")
    assert list(wrong_references([games, OTHER])) == []


def test_a_table_outside_must_be_one_that_the_feed_names():
    games = feed("games", bad="silver join external.players")
    ((_, index, fact),) = wrong_references([games, OTHER])
    told = "reads external.players, and the feed has no such table in `external`; it has none"
    assert (index, fact) == (0, told)
    external = {"players": ExternalTable(delta="/data/players")}
    named = games.model_copy(update={"external": external})
    assert list(wrong_references([named, OTHER])) == []


def test_a_cycle_over_feeds_is_refused_with_its_views_when_the_feeds_are_loaded(tmp_path):
    text = """feed: {name}
source: {{kafka: {{topic: {name}}}}}
payload: {{json: {{schema: "kind string"}}}}
tables: {{silver: "{name}_{{key}}", gold: "{name}_{{key}}_{{view}}"}}
route: {{column: kind, keys: [a]}}
gold:
  - {{name: up, sql: select kind from silver}}
  - {{name: round, sql: "select kind from {other}.gold.round"}}
"""
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.yaml").write_text(text.format(name=name, other=other))
    with pytest.raises(FeedError) as refused:
        load_feeds(tmp_path)
    said = str(refused.value)
    assert "yaml, line 8: gold[1].sql: reads itself: " in said
    assert "one.gold.round reads two.gold.round" in said
    assert "two.gold.round reads one.gold.round" in said


def test_a_view_that_reads_itself_is_refused():
    ((_, index, fact),) = wrong_references([feed("games", up="silver", own="gold.own")])
    assert index == 1
    assert fact.startswith("reads itself: games.gold.own reads games.gold.own\nhave one")


def test_loaded_feeds_know_each_other():
    fitness, games = load_feeds(None)
    assert games.feed_of("fitness").keys == fitness.keys
    assert games.feed_of("").feed == games.feed_of("games").feed == "games"
    with pytest.raises(FeedError, match="reads feed 'gone', which is not declared"):
        games.feed_of("gone")
