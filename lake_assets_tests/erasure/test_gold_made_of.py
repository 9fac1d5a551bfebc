from lake_assets.erasure.gold import recompute, totals_shrunk
from lake_assets.erasure.gold_made_of import gold_computed_of, gold_made_of, keys_of_all
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner
from lake_assets.model.tables import gold_of_all
from lake_assets_tests.backup.lakes import FISH, UNO, UNO_AGG
from lake_assets_tests.maintenance.lakes import SCHEMA, WrittenLake
from lake_assets_tests.sample import GAMES, gold_of

FISH_AGG = gold_of("go_fish", "player_agg")
EVERY = gold_of_all("games", "everybody")
TOP = gold_of_all("games", "top")
LAST_YEARS = gold_of("uno", "last_years")

VIEWS = (
    *GAMES.gold,
    GoldView(name="everybody", sql="SELECT gamer_id FROM silver_all"),
    GoldView(name="top", sql="SELECT max(gamer_id) AS gamer_id FROM gold_all.player_agg"),
)


def test_gold_of_rows_by_whatever_way_and_of_views_that_are_gone(settings):
    lake = WrittenLake(settings, "games")
    for table, key in ((UNO, "uno"), (FISH, "go_fish")):
        lake.create(table, key)
    owners = {
        UNO_AGG: Owner(feed="games", key="uno", view="player_agg"),
        FISH_AGG: Owner(feed="games", key="go_fish", view="player_agg"),
        EVERY: Owner(feed="games", view="everybody"),
        TOP: Owner(feed="games", view="top"),
        LAST_YEARS: Owner(feed="games", key="uno", view="last_years"),
    }
    tables: dict = dict.fromkeys(owners, SCHEMA)
    lake.committer.create(tables, owners=owners)
    feeds = [GAMES.model_copy(update={"gold": VIEWS})]
    keys = keys_of_all(lake.store, feeds)
    found = gold_made_of(lake.store, feeds, keys, [UNO])
    assert found == {UNO_AGG, EVERY, TOP, LAST_YEARS}
    assert gold_made_of(lake.store, feeds, keys, []) == set()
    lake.committer.close()


def test_gold_of_a_view_that_is_gone_is_told_and_nothing_else_is_made_of_it(settings):
    """Nobody computes it anew, so that it has whoever it had."""
    lake = WrittenLake(settings, "games")
    lake.create(UNO, "uno")
    owners = {LAST_YEARS: Owner(feed="games", key="uno", view="last_years")}
    lake.committer.create({LAST_YEARS: SCHEMA}, owners=owners)
    lake.committer.close()
    feeds = [GAMES.model_copy(update={"gold": ()})]
    done = recompute(settings, feeds, [UNO], None)
    assert done.tables == {LAST_YEARS}
    (words,) = done.left
    assert words.startswith(f"{LAST_YEARS.name} may have the rows still")
    assert recompute(settings, feeds, [], None).left == []


def test_totals_that_lose_what_left_for_its_age_are_told(settings):
    lake = WrittenLake(settings, "games")
    for table, key in ((UNO, "uno"), (FISH, "go_fish")):
        lake.create(table, key)
    owners = {
        UNO_AGG: Owner(feed="games", key="uno", view="player_agg"),
        FISH_AGG: Owner(feed="games", key="go_fish", view="player_agg"),
    }
    lake.committer.create(dict.fromkeys(owners, SCHEMA), owners=owners)
    lake.committer.close()
    aged = GAMES.model_validate({**GAMES.model_dump(), "retention": "90d"})
    changed = {UNO_AGG, FISH_AGG}
    keys = keys_of_all(lake.store, [aged])
    made = gold_computed_of(lake.store, [aged], keys, [UNO])
    (words,) = totals_shrunk([aged], keys, made, changed)
    assert words.startswith(f"{UNO_AGG.name}: computed anew from what silver keeps")
    assert totals_shrunk([aged], keys, made, {FISH_AGG}) == []
    assert totals_shrunk([GAMES], keys, made, changed) == []
