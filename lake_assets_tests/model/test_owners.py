import pytest

from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner, OwnerRecord, claims_of, owner_of_view
from lake_assets.model.tables import EVERY_KEY, Layer, gold_of_all
from lake_assets_tests.sample import GAMES, RENAMED, gold_of, silver_of

OWNERS = [
    (Owner(feed="games"), "feed 'games'", 5),
    (Owner(feed="games", key="uno"), "key 'uno' of feed 'games'", 1),
    (Owner(feed="games", key="uno", view="agg"), "view 'agg' of key 'uno' of feed 'games'", 1),
    (Owner(feed="games", view="agg"), "view 'agg' of feed 'games'", 1),
]


@pytest.mark.parametrize(("owner", "words", "tables"), OWNERS)
def test_an_owner_is_told_in_words_and_read_back_from_properties(owner, words, tables):
    assert str(owner) == words
    assert len(owner.tables) == tables
    for table in owner.tables:
        properties = owner.properties(table)
        assert Owner.of({"delta.appendOnly": "true", **properties}) == owner
        assert properties["lake_assets.layer"] == table.layer


def test_a_table_without_the_properties_has_no_owner():
    assert Owner.of({"delta.appendOnly": "true"}) is None


def test_two_owners_may_ask_for_one_name():
    one = Owner(feed="a", key="chess", view="player_agg")
    other = Owner(feed="b", key="chess_player", view="agg")
    assert one.tables == other.tables
    assert one != other


def test_a_feed_claims_its_own_tables_its_views_over_all_and_those_of_its_keys():
    over_all = GoldView(name="top", sql="select gamer_id from silver_all")
    feed = GAMES.model_copy(update={"gold": (*GAMES.gold, over_all)})
    found = dict(claims_of(feed, ["uno"]))
    assert [table.layer for table in found] == [
        Layer.BRONZE,
        Layer.BRONZE,
        Layer.BRONZE,
        Layer.BRONZE,
        Layer.QUARANTINE,
        Layer.GOLD,
        Layer.SILVER,
        Layer.GOLD,
    ]
    assert found[gold_of_all("games", "top")] == owner_of_view(feed, "top", EVERY_KEY)
    assert found[silver_of("uno")] == Owner(feed="games", key="uno")
    assert found[gold_of("uno", "player_agg")] == owner_of_view(feed, "player_agg", "uno")


def test_a_feed_claims_tables_by_the_names_that_it_gives_them():
    found = {table.name: owner for table, owner in claims_of(RENAMED, ["uno"])}
    assert found["uno_in_silver"] == Owner(feed="renamed", key="uno")
    assert found["player_agg_of_uno"] == owner_of_view(RENAMED, "player_agg", "uno")
    assert "silver_uno_events" not in found


@pytest.mark.parametrize("feed", [GAMES, RENAMED])
def test_a_record_is_about_the_table_that_it_was_made_for(feed):
    owner, table = Owner(feed=feed.feed, key="uno"), feed.silver_table("uno")
    record = OwnerRecord.of(owner.properties(table))
    assert record == OwnerRecord(owner=owner, table=table.name)
    assert record.is_about(table)
    assert not record.is_about(feed.silver_table("go_fish"))


def test_a_record_of_before_names_were_given_is_about_the_table_of_the_default_name():
    owner = Owner(feed="renamed", key="uno")
    properties = owner.properties(silver_of("uno"))
    del properties["lake_assets.table"]
    record = OwnerRecord.of(properties)
    assert record.is_about(silver_of("uno"))
    assert not record.is_about(RENAMED.silver_table("uno"))
    assert OwnerRecord.of({}) is None
