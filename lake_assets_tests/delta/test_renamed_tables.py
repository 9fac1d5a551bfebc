import re
import shutil

import pyarrow as pa
import pytest

from lake_assets.delta.renamed_tables import (
    drop_tables,
    ensure_none_renamed,
    movable_tables,
    renamed_tables,
    superseded_tables,
)
from lake_assets.delta.table_owners import is_there, owner_of, owners_in
from lake_assets.errors import FeedError
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner, claims_of_key, owner_of_view
from lake_assets.model.routes import Route
from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import EVERY_KEY, Layer, bronze_of
from lake_assets.storage.local import LocalStore
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
        assert renamed_tables(LocalStore.at(lake), feed, Layer.SILVER) == {}
        assert renamed_tables(LocalStore.at(lake), feed, Layer.GOLD) == {}
        ensure_none_renamed(LocalStore.at(lake), feed, Layer.SILVER, Layer.GOLD)
    assert renamed_tables(LocalStore.at(lake / "nowhere"), MOVED, Layer.SILVER) == {}


def test_each_table_of_the_feed_is_told_with_what_it_would_be_called(lake):
    assert renamed_tables(LocalStore.at(lake), MOVED, Layer.SILVER) == {
        silver_of("uno"): MOVED.silver_table("uno"),
        silver_of("was_created"): MOVED.silver_table("was_created"),
    }
    assert renamed_tables(LocalStore.at(lake), MOVED, Layer.GOLD) == {
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
        ensure_none_renamed(LocalStore.at(lake), MOVED, *layers)


def test_a_view_that_is_over_all_keys_now_has_not_renamed_the_tables_of_before(lake):
    view = MOVED.gold[0].model_copy(
        update={"sql": "select a from silver_all", "keys": {}, "measures": {}}
    )
    feed = MOVED.model_copy(update={"gold": (view,)})
    assert renamed_tables(LocalStore.at(lake), feed, Layer.GOLD) == {}


def test_a_table_that_is_dropped_is_gone_and_others_stay(lake):
    drop_tables(LocalStore.at(lake), [silver_of("uno")])
    assert not (lake / silver_of("uno").relative).exists()
    assert is_there(LocalStore.at(lake), silver_of("was_created"))
    assert list(renamed_tables(LocalStore.at(lake), MOVED, Layer.SILVER)) == [
        silver_of("was_created")
    ]


def feed_of(keys, template):
    """Feed `games` with these keys, whose tables of both layers have one template."""
    names = TableNames(silver=template.removesuffix("_{view}"), gold=template)
    route = Route(column="game_name", keys=keys)
    return GAMES.model_copy(update={"route": route, "tables": names})


@pytest.fixture
def create(committer):
    """Creates the silver and gold tables of a feed's keys."""

    def go(feed, *keys):
        owners = {table: owner for key in keys for table, owner in claims_of_key(feed, key)}
        committer.create(dict.fromkeys(owners, SCHEMA), owners=owners)
        return owners

    return go


BEFORE = feed_of(("a", "a_x"), "{key}_x_{view}")
AFTER = feed_of(("a", "a_x"), "{key}_{view}")
"""Under it key `a_x` is called as key `a` was before."""


@pytest.mark.parametrize(
    ("layer", "table", "view"),
    [
        (Layer.SILVER, "a_x", ""),
        (Layer.GOLD, "a_x_player_agg", "view 'player_agg' of "),
    ],
)
def test_new_names_that_other_keys_tables_have_still_are_refused(
    tmp_path, create, layer, table, view
):
    create(BEFORE, "a", "a_x")
    told = f"of {view}key 'a_x' of feed 'games' {table}, which is that of {view}key 'a' of"
    for ensure in (movable_tables, ensure_none_renamed):
        with pytest.raises(FeedError, match=f"{told}.*first choose names that no table has"):
            ensure(LocalStore.at(tmp_path), AFTER, layer)
        ensure(LocalStore.at(tmp_path), BEFORE, layer)


def test_new_names_that_no_other_table_of_the_feed_has_pass(lake):
    for layer in (Layer.SILVER, Layer.GOLD):
        movable_tables(LocalStore.at(lake), MOVED, layer)


def test_a_table_is_superseded_by_one_of_its_owner_alone(tmp_path, create):
    create(BEFORE, "a", "a_x")
    for layer in (Layer.SILVER, Layer.GOLD):
        assert (
            superseded_tables(
                LocalStore.at(tmp_path), renamed_tables(LocalStore.at(tmp_path), AFTER, layer)
            )
            == []
        )
    new = list(create(AFTER, "a"))
    renamed = renamed_tables(LocalStore.at(tmp_path), AFTER, Layer.GOLD)
    assert superseded_tables(LocalStore.at(tmp_path), renamed) == [
        BEFORE.gold_table(BEFORE.gold[0], "a")
    ]
    assert [owner_of(LocalStore.at(tmp_path), table).key for table in new] == ["a", "a"]


def test_gold_of_a_key_that_is_no_longer_declared_keeps_its_name(tmp_path, create):
    create(feed_of(("uno", "chess"), "{key}_of_{view}"), "uno", "chess")
    feed = feed_of(("uno",), "{key}_in_{view}")
    assert [table.name for table in renamed_tables(LocalStore.at(tmp_path), feed, Layer.GOLD)] == [
        "uno_of_player_agg"
    ]
    assert len(renamed_tables(LocalStore.at(tmp_path), feed, Layer.SILVER)) == 2


def test_what_a_kill_left_of_a_dropped_table_is_in_nobodys_way(tmp_path, create):
    silver, _ = create(GAMES, "uno")
    folder = tmp_path / silver.relative
    (folder / "_delta_log").rename(folder / "_dropped_log")
    shutil.copytree(folder, folder.with_name(".poker_in_silver.dropped"))
    assert owners_in(LocalStore.at(tmp_path), Layer.SILVER) == {}
    create(GAMES, "uno")
    assert owner_of(LocalStore.at(tmp_path), silver) == Owner(feed="games", key="uno")
    drop_tables(LocalStore.at(tmp_path), [silver])
    assert list(folder.parent.iterdir()) == []
