import pytest
from pydantic import ValidationError

from lake_assets.model.checks import GoldCheck, RowCount
from lake_assets.model.expectations import Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.routes import Route, Unknown
from lake_assets.model.tables import EVERY_KEY, is_key_name
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE

ONE, ALL = "select gamer_id from silver", "select gamer_id from silver_all"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "give keys and measures, or sql$"),
        ({"keys": ["gamer_id"]}, "give keys and measures, or sql$"),
        ({"measures": {"n": "count(*)"}}, "give keys and measures, or sql$"),
        ({"sql": ONE, "keys": ["gamer_id"]}, "not both"),
        ({"sql": ONE, "measures": {"n": "count(*)"}}, "not both"),
        ({"sql": "select 1"}, "reads no table"),
        ({"keys": ["gamer_id", "gamer_id"], "measures": {"n": "count(*)"}}, "two keys are called"),
        ({"keys": {"day": "x"}, "measures": {"day": "count(*)"}}, "named as key and as measure"),
        ({"sql": ALL, "checks": [GoldCheck(name="c", row_count=RowCount(min=1), keys=("uno",))]},
         "c is of some keys"),
        ({"sql": ALL, "expectations": [Expectation(name="e", sql="true", keys=("uno",))]},
         "e is of some keys"),
    ],
)  # fmt: skip
def test_a_view_is_computed_one_way(fields, said):
    with pytest.raises(ValidationError) as caught:
        GoldView(name="view", **fields)
    (problem,) = caught.value.errors()
    with pytest.raises(ValueError, match=said):
        raise ValueError(problem["msg"])


def test_keys_are_columns_of_silver_or_expressions():
    listed = GoldView(name="v", keys=["gamer_id"], measures={"n": "count(*)"})
    mapped = GoldView(name="v", keys={"day": "to_date(at)"}, measures={"n": "count(*)"})
    assert listed.key_expressions == {"gamer_id": "`gamer_id`"}
    assert mapped.key_expressions == {"day": "to_date(at)"}
    assert (listed.columns, mapped.columns) == (("gamer_id", "n"), ("day", "n"))


def test_a_view_survives_being_written_to_a_file():
    for view in (
        GoldView(name="v", keys=["gamer_id"], measures={"n": "count(*)"}),
        GoldView(name="v", sql=ALL),
    ):
        assert GoldView.model_validate(view.model_dump(mode="json", exclude_none=True)) == view


def test_a_view_has_a_table_a_game_or_one_for_all():
    one, of_all = GoldView(name="top", sql=ONE), GoldView(name="top", sql=ALL)
    assert (one.is_over_all, of_all.is_over_all) == (False, True)
    assert one.scopes(["uno", "go"]) == ("uno", "go")
    assert of_all.scopes(["uno", "go"]) == (EVERY_KEY,)
    assert GAMES.gold_table(one, "uno").name == "gold_uno_top"
    assert GAMES.gold_table(of_all, EVERY_KEY).name == "all_games_top"


def test_no_game_can_be_taken_for_all_of_them():
    assert not is_key_name(EVERY_KEY)
    assert GAMES.gold_table(GoldView(name="top", sql=ONE), "all") != GAMES.gold_table(
        GoldView(name="top", sql=ALL), EVERY_KEY
    )


def test_a_feeds_tables_are_called_as_it_says():
    view = RENAMED.gold[0]
    assert RENAMED.silver_table("uno").name == "uno_in_silver"
    assert RENAMED.gold_table(view, "uno").name == "player_agg_of_uno"
    top = RENAMED.gold_table(GoldView(name="top", sql=ALL), EVERY_KEY)
    assert top.name == "all_renamed_top"


def test_a_feed_has_the_keys_of_its_route():
    route = Route(column="game_name", unknown=Unknown.CREATE)
    creates = GAMES.model_copy(update={"route": route})
    assert (GAMES.keys, GAMES.creates_keys, GAMES.route_column) == (
        ("uno", "go_fish"),
        False,
        "game_name",
    )
    assert (creates.keys, creates.creates_keys) == ((), True)


def test_a_feed_without_a_route_has_one_key_that_is_called_as_the_feed():
    feed = WITHOUT_ROUTE
    assert (feed.keys, feed.creates_keys, feed.route_column) == (("clicks",), False, None)
    assert feed.silver_table("clicks").name == "silver_clicks_events"
    assert feed.gold_table(feed.gold[0], "clicks").name == "gold_clicks_player_agg"


def test_every_feeds_name_may_be_a_key():
    longest = WITHOUT_ROUTE.model_copy(update={"feed": "x" * 63})
    assert all(map(is_key_name, longest.keys))


def test_a_sink_to_a_topic_that_the_feed_reads_is_refused():
    def sinks(topic):
        return ({"name": "back", "from": "silver", "kafka": {"topic": topic}},)

    told = GAMES.model_dump(exclude_unset=True, by_alias=True) | {"sinks": sinks("elsewhere")}
    assert type(GAMES).model_validate(told).sinks[0].kafka.topic == "elsewhere"
    with pytest.raises(ValidationError, match="its rows would come back"):
        type(GAMES).model_validate(told | {"sinks": sinks(GAMES.source.kafka.topic)})
