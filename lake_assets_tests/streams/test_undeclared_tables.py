import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.errors import FeedError, StreamsLockedError
from lake_assets.model.owners import Owner
from lake_assets.model.routes import Unknown
from lake_assets.model.tables import TableRef
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import streams_lock
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.undeclared_tables import drop_undeclared, undeclared_tables
from lake_assets_tests.sample import GAMES, gold_of, silver_of

GONE = {
    silver_of("poker"): Owner(feed="games", key="poker"),
    gold_of("poker", "player_agg"): Owner(feed="games", key="poker", view="player_agg"),
    gold_of("uno", "old_view"): Owner(feed="games", key="uno", view="old_view"),
}

STAY = {
    silver_of("uno"): Owner(feed="games", key="uno"),
    gold_of("uno", "player_agg"): Owner(feed="games", key="uno", view="player_agg"),
    silver_of("running"): Owner(feed="fitness", key="running"),
}


def make(settings, owners, columns=None):
    schema = columns or pa.schema([("a", pa.int64())])
    with open_lake(settings) as context:
        context.committer.create(dict.fromkeys(owners, schema), owners=owners)


def names(tables):
    return {table.name for table in tables}


def test_tables_of_keys_and_views_that_are_declared_no_more_are_found(settings):
    make(settings, GONE | STAY)
    assert names(undeclared_tables(lake_of(settings), GAMES)) == names(GONE)


def test_only_those_of_a_key_are_found_if_one_is_named(settings):
    make(settings, GONE | STAY)
    found = undeclared_tables(lake_of(settings), GAMES, ["uno"])
    assert names(found) == {"gold_uno_old_view"}


def test_keys_that_a_route_created_are_declared(settings):
    make(settings, GONE | STAY)
    route = GAMES.route.model_copy(update={"unknown": Unknown.CREATE})
    creating = GAMES.model_copy(update={"route": route})
    assert names(undeclared_tables(lake_of(settings), creating)) == {"gold_uno_old_view"}


def test_they_are_dropped_and_nothing_else_is(settings):
    make(settings, GONE | STAY)
    assert drop_undeclared(settings, GAMES, list(GONE))
    there = {table for table in GONE | STAY if (settings.lake_dir / table.relative).exists()}
    assert there == set(STAY)


def test_without_a_silver_table_nothing_is_to_be_derived_again(settings):
    gold = [table for table in GONE if table.name.startswith("gold")]
    make(settings, GONE | STAY)
    assert not drop_undeclared(settings, GAMES, gold)


def test_beside_running_streams_nothing_is_dropped(settings):
    make(settings, GONE)
    with streams_lock(settings.state_dir), pytest.raises(StreamsLockedError):
        drop_undeclared(settings, GAMES, list(GONE))
    assert names(undeclared_tables(lake_of(settings), GAMES)) == names(GONE)


def test_a_table_with_another_feeds_rows_stays(settings):
    poker: TableRef = silver_of("poker")
    make(settings, {poker: GONE[poker]}, pa.schema([("_feed", pa.string())]))
    write_deltalake(
        settings.lake_dir / poker.relative, pa.table({"_feed": ["old_games"]}), mode="append"
    )
    with pytest.raises(FeedError, match="has rows of old_games, which would be dropped"):
        drop_undeclared(settings, GAMES, [poker])
