import shutil

import pyarrow as pa
import pytest

from lake_assets.delta.catalog import (
    adoptable_keys,
    example_keys,
    keys_of,
    refused_keys,
    tables_of,
)
from lake_assets.delta.committer import Committer
from lake_assets.delta.table_owners import owner_of
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import filling
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner, owner_of_view
from lake_assets.model.routes import Route, Unknown
from lake_assets.model.tables import Layer, TableRef, bronze_of, quarantine_of, waiting_of
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE, gold_of, silver_of

CREATES = GAMES.model_copy(
    update={"route": Route(column="game_name", keys=("uno",), unknown=Unknown.CREATE)}
)
CARDS = CREATES.model_copy(
    update={
        "feed": "cards",
        "route": Route(column="game_name", keys=("chess_player",)),
        "gold": (GoldView(name="agg", keys=("gamer_id",), measures={"n": "count(*)"}),),
    }
)
SCHEMA = pa.schema([("a", pa.int64())])


@pytest.fixture
def own(tmp_path):
    """Creates tables, each its owner's; nobody's where that is None."""

    def create(tables):
        committer = Committer(LocalStore.at(tmp_path), threads=1)
        owners = {table: owner for table, owner in tables.items() if owner is not None}
        committer.create(dict.fromkeys(tables, SCHEMA), owners=owners)
        committer.close()
        return tmp_path

    return create


def silver(feed: Feed, *keys: str):
    return {feed.silver_table(key): Owner(feed=feed.feed, key=key) for key in keys}


def test_declared_games_are_a_feeds_games(own):
    lake = own(silver(GAMES, "uno", "poker"))
    assert keys_of(LocalStore.at(lake), GAMES) == ("uno", "go_fish")


def test_games_that_were_created_come_after_the_declared_ones(own):
    lake = own(silver(CREATES, "poker", "uno", "chess"))
    assert keys_of(LocalStore.at(lake), CREATES) == ("uno", "chess", "poker")


def test_an_example_is_a_key_that_has_a_table(own):
    lake = LocalStore.at(own({**silver(GAMES, "go_fish"), **silver(CREATES, "chess", "poker")}))
    assert example_keys(lake, GAMES) == ("go_fish",)
    assert example_keys(lake, CREATES) == ("chess",)
    assert example_keys(lake, CREATES, 3) == ("chess", "go_fish", "poker")


def test_without_tables_an_example_is_a_declared_key(own, tmp_path):
    assert example_keys(LocalStore.at(tmp_path), GAMES) == ("uno",)
    lake = LocalStore.at(own(silver(CARDS, "uno")))
    assert example_keys(lake, CREATES) == ("uno",)


def test_examples_are_found_without_a_look_at_all_tables(own, monkeypatch):
    keys = [f"key{number:03}" for number in range(200)]
    lake = LocalStore.at(own(silver(CREATES, *keys)))
    looked = []

    def look(store, table):
        looked.append(table)
        return owner_of(store, table)

    monkeypatch.setattr("lake_assets.delta.catalog.owner_of", look)
    assert example_keys(lake, CREATES) == ("key000",)
    assert len(looked) == 2  # the declared one, which has no table, and the first that has


def test_games_of_another_feed_are_none_even_if_they_are_declared(own):
    lake = own({**silver(CARDS, "poker", "uno"), silver_of("hearts"): None})
    assert keys_of(LocalStore.at(lake), CREATES) == ()
    assert keys_of(LocalStore.at(lake), GAMES) == ("go_fish",)


def test_a_lake_that_is_not_there_has_the_declared_games(tmp_path):
    assert keys_of(LocalStore.at(tmp_path / "nowhere"), CREATES) == ("uno",)


def test_a_feeds_tables_come_in_the_order_data_travels(own):
    mine, old_view = Owner(feed="games"), gold_of("uno", "no_longer_declared")
    lake = own(
        {
            old_view: Owner(feed="games", key="uno", view="no_longer_declared"),
            gold_of("uno", "player_agg"): None,
            gold_of("hearts", "player_agg"): Owner(feed="cards", key="hearts", view="player_agg"),
            **silver(GAMES, "uno", "poker"),
            **silver(CARDS, "go_fish"),
            silver_of("hearts"): None,
            quarantine_of("games"): mine,
            bronze_of("games"): mine,
            waiting_of("games"): mine,
            bronze_of("cards"): Owner(feed="cards"),
        }
    )
    assert tables_of(LocalStore.at(lake), GAMES) == (
        bronze_of("games"),
        waiting_of("games"),
        quarantine_of("games"),
        silver_of("poker"),
        silver_of("uno"),
        old_view,
        gold_of("uno", "player_agg"),
    )


def test_old_silver_is_adopted_by_the_only_feed_that_can_have_made_it(own):
    old = dict.fromkeys((silver_of("chess"), silver_of("uno"), bronze_of("games")))
    lake = own({**old, silver_of("Bad"): None, waiting_of("games"): Owner(feed="games")})
    assert adoptable_keys(LocalStore.at(lake), CREATES) == ("chess",)
    assert adoptable_keys(LocalStore.at(lake), GAMES) == ()
    own({bronze_of("cards"): None})
    assert adoptable_keys(LocalStore.at(lake), CREATES) == ()


@pytest.mark.parametrize("name", ["silver_uno_backup_events", "silver_uno_events_events"])
def test_the_copy_of_a_silver_table_is_no_key(own, name):
    lake = own({**silver(CREATES, "uno"), silver_of("chess"): None})
    copy = TableRef(layer=Layer.SILVER, name=name)
    shutil.copytree(lake / silver_of("uno").relative, lake / copy.relative)
    assert adoptable_keys(LocalStore.at(lake), CREATES) == ("chess",)


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ({}, ""),
        (silver(CREATES, "chess"), ""),
        (
            silver(CARDS, "chess"),
            "silver_chess_events is the table of key 'chess' of feed 'cards'",
        ),
        ({silver_of("chess"): None}, ""),
        (
            {silver_of("chess"): None, bronze_of("cards"): None},
            "silver_chess_events does not record whose it is",
        ),
        (
            {gold_of("chess", "player_agg"): owner_of_view(CREATES, "agg", "chess_player")},
            "gold_chess_player_agg is the table of view 'agg' of key 'chess_player' of feed",
        ),
    ],
)
def test_a_new_game_gets_no_table_that_is_anothers(own, tables, reason):
    found = refused_keys(LocalStore.at(own(tables)), CREATES, [CREATES], ("uno",), ["chess"])
    assert list(found) == (["chess"] if reason else [])
    assert found.get("chess", "").startswith(reason)


def test_a_new_game_gets_no_table_that_another_feed_declares(tmp_path):
    found = refused_keys(
        LocalStore.at(tmp_path), CREATES, [CREATES, CARDS], ("uno",), ["chess", "chess_player"]
    )
    whose = "key 'chess_player' of feed 'cards'"
    assert found == {
        "chess": f"gold_chess_player_agg is the table of view 'agg' of {whose}",
        "chess_player": f"silver_chess_player_events is the table of {whose}",
    }


def test_of_two_new_games_with_one_table_the_first_gets_it(tmp_path):
    views = (*GAMES.gold, GAMES.gold[0].model_copy(update={"name": "agg"}))
    feed = CREATES.model_copy(update={"gold": views})
    whose = "view 'player_agg' of key 'chess' of feed 'games'"
    assert refused_keys(LocalStore.at(tmp_path), feed, [feed], (), ["chess_player", "chess"]) == {
        "chess_player": f"gold_chess_player_agg is the table of {whose}"
    }
    assert list(
        refused_keys(LocalStore.at(tmp_path), feed, [feed], ("chess_player",), ["chess"])
    ) == ["chess"]


def test_a_game_that_was_created_keeps_the_tables_that_its_gold_will_have(own):
    views = (*GAMES.gold, GAMES.gold[0].model_copy(update={"name": "agg"}))
    feed = CREATES.model_copy(update={"gold": views})
    lake = own(silver(feed, "chess_player"))
    assert list(refused_keys(LocalStore.at(lake), feed, [feed], (), ["chess"])) == ["chess"]


RENAMED_CREATES = RENAMED.model_copy(update={"route": CREATES.route})


def test_two_feeds_with_one_key_have_it_each_under_its_own_names(own):
    lake = own({**silver(GAMES, "uno"), **silver(RENAMED_CREATES, "uno", "chess")})
    assert keys_of(LocalStore.at(lake), GAMES) == ("uno", "go_fish")
    assert keys_of(LocalStore.at(lake), RENAMED_CREATES) == ("uno", "chess")
    assert tables_of(LocalStore.at(lake), GAMES) == (silver_of("uno"),)
    assert [table.name for table in tables_of(LocalStore.at(lake), RENAMED_CREATES)] == [
        "chess_in_silver",
        "uno_in_silver",
    ]
    assert (
        refused_keys(
            LocalStore.at(lake), RENAMED_CREATES, [GAMES, RENAMED_CREATES], (), ["go_fish"]
        )
        == {}
    )


def test_silver_that_records_nobody_is_adopted_under_the_feeds_own_names(own):
    lake = own(dict.fromkeys((silver_of("chess"), RENAMED.silver_table("poker"))))
    assert adoptable_keys(LocalStore.at(lake), RENAMED_CREATES) == ("poker",)


def test_a_new_key_gets_no_table_that_is_called_as_one_of_another_layer(tmp_path):
    names = RENAMED.tables.model_copy(update={"silver": "{key}"})
    feed = RENAMED_CREATES.model_copy(update={"tables": names})
    whose = "feed 'renamed'"
    new = ["bronze_renamed", "chess", "player_agg_of_uno", "quarantine_renamed", "quality_log"]
    assert refused_keys(LocalStore.at(tmp_path), feed, [feed], ("uno",), new) == {
        "bronze_renamed": f"bronze_renamed is the table of {whose}",
        "player_agg_of_uno": (
            f"player_agg_of_uno is the table of view 'player_agg' of key 'uno' of {whose}"
        ),
        "quality_log": "quality_log is a log of the lake",
        "quarantine_renamed": f"quarantine_renamed is the table of {whose}",
    }


def test_a_feed_without_a_route_has_its_one_key(own):
    lake = own(silver(WITHOUT_ROUTE, "clicks"))
    assert keys_of(LocalStore.at(lake), WITHOUT_ROUTE) == ("clicks",)
    assert keys_of(LocalStore.at(lake / "nowhere"), WITHOUT_ROUTE) == ("clicks",)
    assert tables_of(LocalStore.at(lake), WITHOUT_ROUTE) == (silver_of("clicks"),)
    assert adoptable_keys(LocalStore.at(lake), WITHOUT_ROUTE) == ()


def test_a_feed_that_fills_anothers_tables_has_its_keys_and_not_its_tables(own):
    flow = filling(CREATES.model_copy(update={"feed": "twin", "into": "games"}), CREATES)
    aside = {table: Owner(feed="twin") for table in (bronze_of("twin"), quarantine_of("twin"))}
    lake = LocalStore.at(own({**silver(CREATES, "uno", "chess"), **aside}))
    assert keys_of(lake, flow) == keys_of(lake, CREATES) == ("uno", "chess")
    assert set(tables_of(lake, flow)) == {*aside}
    assert set(tables_of(lake, CREATES)) == {*silver(CREATES, "uno", "chess")}


def test_a_key_that_a_flow_meets_gets_no_table_where_its_views_would_have_anothers(own):
    flow = filling(
        CREATES.model_copy(update={"feed": "twin", "into": "games", "gold": ()}), CREATES
    )
    lake = LocalStore.at(own(silver(CREATES, "uno")))
    feeds = [CREATES, flow, CARDS]
    assert refused_keys(lake, flow, feeds, ("uno",), ["poker"]) == {}
    whose = "view 'agg' of key 'chess_player' of feed 'cards'"
    assert refused_keys(lake, flow, feeds, ("uno",), ["chess"]) == {
        "chess": f"gold_chess_player_agg is the table of {whose}"
    }
