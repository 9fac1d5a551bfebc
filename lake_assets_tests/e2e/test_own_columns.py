"""Own columns beside what else a feed declares: expectations, views, duplicates, select."""

from datetime import timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.errors import FeedError
from lake_assets.gold.refresh import refresh
from lake_assets.gold.window_refresh import refresh_windows
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.gold_views import GoldView, Windows
from lake_assets.model.layouts import Layout
from lake_assets.model.reports import Judged
from lake_assets.silver.recount_expectations import count
from lake_assets.spark.columns_of_keys import columns_of_keys
from lake_assets_tests.silver.message_types import SECOND, chess, open_games, uno

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture
def lake(spark, settings, services):
    with open_games(spark, settings, services) as found:
        yield found


def test_a_table_without_the_key_of_events_has_no_duplicates(lake):
    second = lake.topic.register_text(SECOND)
    once = Deduplicate(key=("opening",), within=timedelta(hours=1))
    moves = [chess(second, SECOND, player=name, opening="Réti") for name in ("a", "b")]
    cards = [uno(second, SECOND, player=name) for name in ("c", "d")]
    lake.take(*moves, *cards, deduplicate=once)
    lake.take(*moves, *cards, deduplicate=once)
    assert [row["player"] for row in lake.read("chess")] == ["a"]
    assert [row["player"] for row in lake.read("uno")] == ["c", "d", "c", "d"]


def test_what_a_table_lacks_is_null_to_expectations_and_views(lake, spark):
    high = Expectation(name="high", sql="elo > 5", action=Action.QUARANTINE, keys=("chess",))
    known = Expectation(name="known", sql="elo is null or elo > 0", action=Action.DROP)
    second = lake.topic.register_text(SECOND)
    games = [chess(second, SECOND, player=name, elo=n) for name, n in {"a": 9, "b": 1}.items()]
    lake.take(uno(second, SECOND, player="c"), *games, expectations=(high, known))
    assert [row["player"] for row in lake.read("chess")] == ["a"]
    assert [row["player"] for row in lake.read("uno")] == ["c"]
    view = GoldView(name="top", keys=("player",), measures={"best": "max(elo)"})
    done = refresh(spark, lake.feed(gold=(view,)), view, ["uno"], lake.context)
    assert {one.key: one.rows for one in done.refreshed} == {"uno": 1}
    lake.take(uno(second, SECOND, player="d"))
    done = refresh(spark, lake.feed(gold=(view,)), view, ["uno", "chess"], lake.context)
    assert {one.key: one.rows for one in done.refreshed} == {"uno": 2, "chess": 1}
    windows = Windows(time="_kafka_timestamp", every="10s", watermark="4s")
    view = view.model_copy(update={"name": "top_by_window", "windows": windows})
    done = refresh_windows(spark, lake.feed(gold=(view,)), view, ["uno"], lake.context)
    assert [one.key for one in done.refreshed] == ["uno"]
    # As a check that is executed by hand counts them.
    declared = lake.feed(expectations=(high, known))
    tables = [DeltaTable(lake.path(key)) for key in ("uno", "chess")]
    for read in (tables[:1], tables):
        columns = columns_of_keys(lake.context.lake, declared, read)
        counted = count(spark, declared, read, columns)
        assert counted["uno", "known"] == Judged(seen=2, violated=0)
    wrong = lake.demux(expectations=(Expectation(name="wrong", sql="nobodys > 5"),))
    with pytest.raises(FeedError, match="nobodys"):
        wrong.prepare(spark)


def test_a_selected_column_is_of_the_messages_that_may_have_a_value_in_it(lake):
    computed = ("upper(player) as name", "elo / 2d as half", "coalesce(elo, 7) as elo_or_7")
    select = ("* except (color)", "color as card", *computed, "elo + color as total", "'a' as what")
    second = lake.topic.register_text(SECOND)
    values = [chess(lake.first), uno(second, SECOND, color=3), chess(second, SECOND, elo=4)]
    for value in values:  # each by what is known when it comes
        lake.take(value, select=select)
    everywhere = {"player", "name", "elo_or_7", "what"}
    assert {*lake.columns("uno")} == {*everywhere, "card"}
    assert {*lake.columns("chess")} == {*everywhere, "opening", "elo", "half"}
    assert lake.read("uno") == [
        {"player": "", "name": "", "elo_or_7": 7, "what": "a", "card": 3},
    ]
    assert [row["elo_or_7"] for row in lake.read("chess")] == [7, 4]
    assert [row["half"] for row in lake.read("chess")] == [None, 2.0]
    before = lake.read("uno"), lake.read("chess")
    lake.redo(select=select).rebuild(lake.bronze())
    assert (lake.read("uno"), lake.read("chess")) == before


def test_a_table_has_what_it_is_partitioned_by_though_none_of_its_messages_does(lake):
    second = lake.topic.register_text(SECOND)
    games = [chess(second, SECOND, player="a", opening="Réti"), uno(second, SECOND, player="b")]
    lake.take(*games, partition_by={"opening": "opening"})
    assert lake.read("uno") == [{"player": "b", "color": 0, "opening": None}]
    assert lake.read("chess") == [{"player": "a", "opening": "Réti", "elo": 0}]
    of_uno, of_chess = (DeltaTable(lake.path(key)).metadata() for key in ("uno", "chess"))
    assert of_uno.partition_columns == of_chess.partition_columns == ["opening"]


def test_one_key_alone_may_be_partitioned_by_its_own_column(lake):
    second = lake.topic.register_text(SECOND)
    games = [chess(second, SECOND, player="a", opening="Réti"), uno(second, SECOND, player="b")]
    lake.take(*games, layouts={"chess": Layout(partition_by={"opening": "opening"})})
    assert lake.read("uno") == [{"player": "b", "color": 0}]
    assert lake.read("chess") == [{"player": "a", "opening": "Réti", "elo": 0}]
