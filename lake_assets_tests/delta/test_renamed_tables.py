import re

import pyarrow as pa
import pytest

from lake_assets.delta.renamed_tables import drop_tables, ensure_none_renamed, renamed_tables
from lake_assets.delta.table_owners import is_there
from lake_assets.errors import FeedError
from lake_assets.model.feeds import GoldView
from lake_assets.model.owners import Owner, owner_of_view
from lake_assets.model.tables import EVERY_KEY, Layer, bronze_of
from lake_assets_tests.sample import GAMES, RENAMED, gold_of, silver_of

SCHEMA = pa.schema([("a", pa.int64())])
MOVED = GAMES.model_copy(update={"tables": RENAMED.tables})
TOP = GoldView(name="top", sql="select gamer_id from silver_all")


@pytest.fixture
def lake(tmp_path, committer):
    """Of feed `games` under its default names, beside another feed's of the same keys."""
    top = GAMES.gold_table(TOP, EVERY_KEY)
    owners = {
        bronze_of("games"): Owner(feed="games"),
        silver_of("uno"): Owner(feed="games", key="uno"),
        silver_of("was_created"): Owner(feed="games", key="was_created"),
        gold_of("uno", "player_agg"): owner_of_view(GAMES, "player_agg", "uno"),
        gold_of("uno", "no_longer_declared"): owner_of_view(GAMES, "no_longer_declared", "uno"),
        top: owner_of_view(GAMES, "top", EVERY_KEY),
        RENAMED.silver_table("uno"): Owner(feed="renamed", key="uno"),
    }
    committer.create(dict.fromkeys((*owners, silver_of("nobodys")), SCHEMA), owners=owners)
    return tmp_path


def test_what_is_called_as_it_was_is_not_renamed(lake):
    for feed in (GAMES, RENAMED):
        assert renamed_tables(lake, feed, Layer.SILVER) == {}
        assert renamed_tables(lake, feed, Layer.GOLD) == {}
        ensure_none_renamed(lake, feed, Layer.SILVER, Layer.GOLD)
    assert renamed_tables(lake / "nowhere", MOVED, Layer.SILVER) == {}


def test_each_table_of_the_feed_is_told_with_what_it_would_be_called(lake):
    assert renamed_tables(lake, MOVED, Layer.SILVER) == {
        silver_of("uno"): MOVED.silver_table("uno"),
        silver_of("was_created"): MOVED.silver_table("was_created"),
    }
    assert renamed_tables(lake, MOVED, Layer.GOLD) == {
        gold_of("uno", "player_agg"): MOVED.gold_table(MOVED.gold[0], "uno")
    }


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        (
            (Layer.SILVER, Layer.GOLD),
            "silver_uno_events, which would be uno_in_silver by its `tables` (and 1 more). Put",
        ),
        (
            (Layer.GOLD,),
            "gold_uno_player_agg, which would be player_agg_of_uno by its `tables`. Put `tables`",
        ),
    ],
)
def test_a_feed_that_renamed_its_tables_is_told_both_names_and_what_to_do(lake, layers, told):
    told = f"feed 'games': the lake has {told}"
    step = f"back, or run `lake-assets rebuild {layers[0]}` for all keys"
    with pytest.raises(FeedError, match=f"{re.escape(told)}.*{step}"):
        ensure_none_renamed(lake, MOVED, *layers)


def test_a_view_that_is_over_all_keys_now_has_not_renamed_the_tables_of_before(lake):
    view = MOVED.gold[0].model_copy(
        update={"sql": "select a from silver_all", "keys": {}, "measures": {}}
    )
    feed = MOVED.model_copy(update={"gold": (view,)})
    assert renamed_tables(lake, feed, Layer.GOLD) == {}


def test_a_table_that_is_dropped_is_gone_and_others_stay(lake):
    drop_tables(lake, [silver_of("uno")])
    assert not silver_of("uno").path(lake).exists()
    assert is_there(lake, silver_of("was_created"))
    assert list(renamed_tables(lake, MOVED, Layer.SILVER)) == [silver_of("was_created")]
