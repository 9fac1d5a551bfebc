import shutil
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable

from lake_assets.delta.committer import Committer
from lake_assets.errors import FeedError, TableOwnedError
from lake_assets.gold.run import Around, Warm, refresh_views
from lake_assets.gold.status import views_behind, views_waiting
from lake_assets.model.checks import Severity
from lake_assets.model.expectations import Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner
from lake_assets.model.tables import EVERY_KEY
from lake_assets.state.failing_expectations import Verdict, note_verdicts
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import SCHEMA, add_silver
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE

pytestmark = pytest.mark.spark

AGG = GAMES.gold[0]
OFTEN = GoldView(
    name="often",
    sql="select player_agg.gamer_id, session_count as n from gold.player_agg "
    "where session_count > 1",
)
TOTAL = GoldView(
    name="total",
    sql="select game_name, sum(n) as n from gold_all.often group by game_name",
)
CHAIN = GAMES.model_copy(update={"gold": (TOTAL, OFTEN, AGG)})
"""Declared the wrong way round."""


@pytest.fixture
def bring(settings, spark, context):
    def run(feed, *, blocked=None, **how):
        warm = Warm(session=spark, context=context, keep=lambda _: None)
        around = Around(before=lambda *_: blocked or {}, after=lambda *_: None)
        reports = refresh_views(settings, feed, warm=warm, around=around, **how)
        done = {(one.view, one.key) for report in reports for one in report.refreshed}
        held = {key: why for report in reports for key, why in report.blocked.items()}
        return done, held

    return run


@pytest.fixture
def rows(lake):
    def read(feed, view, scope=EVERY_KEY):
        found = DeltaTable(lake / feed.gold_table(view, scope).relative).to_pyarrow_table()
        return sorted(found.to_pylist(), key=str)

    return read


@pytest.fixture
def folder(lake):
    return lambda feed, view, scope: lake / feed.gold_table(view, scope).relative


def test_views_are_refreshed_in_order_where_what_they_read_changed_and_only_there(
    bring, rows, lake
):
    add_silver(lake, "uno", "ann", "ann", "bob")
    add_silver(lake, "go_fish", "cid", "cid", "cid")
    done, _ = bring(CHAIN)
    both = {(view, key) for view in ("player_agg", "often") for key in ("uno", "go_fish")}
    assert done == {*both, ("total", EVERY_KEY)}
    assert rows(CHAIN, OFTEN, "uno") == [{"gamer_id": "ann", "n": 2}]
    assert rows(CHAIN, TOTAL) == [
        {"game_name": "go_fish", "n": 3},
        {"game_name": "uno", "n": 2},
    ]
    assert bring(CHAIN) == (set(), {})
    add_silver(lake, "uno", "bob", start=20)
    done, _ = bring(CHAIN)
    assert done == {("player_agg", "uno"), ("often", "uno"), ("total", EVERY_KEY)}
    assert rows(CHAIN, TOTAL)[1] == {"game_name": "uno", "n": 4}
    assert bring(CHAIN) == (set(), {})


def test_a_view_alone_reads_the_others_as_they_are(bring, rows, lake):
    add_silver(lake, "uno", "ann", "ann")
    bring(CHAIN)
    add_silver(lake, "uno", "ann", start=20)
    assert bring(CHAIN, views=["often", "total"]) == (set(), {})
    done, _ = bring(CHAIN, views=["player_agg"])
    assert done == {("player_agg", "uno")}
    done, _ = bring(CHAIN, views=["total", "often"])
    assert done == {("often", "uno"), ("total", EVERY_KEY)}
    assert rows(CHAIN, TOTAL) == [{"game_name": "uno", "n": 3}]


def test_a_view_waits_for_one_that_was_never_computed_and_says_so(bring, lake, settings):
    add_silver(lake, "uno", "ann")
    waits = "gold.player_agg, which it reads, has no table yet"
    assert bring(CHAIN, views=["often"]) == (set(), {"uno": waits})
    assert views_waiting(settings, CHAIN)["often"] == {"uno": waits}
    assert views_behind(settings, CHAIN, views=["often"]) == {"often": ()}
    assert views_behind(settings, CHAIN) == {
        "total": (EVERY_KEY,),
        "often": ("uno",),
        "player_agg": ("uno",),
    }


def test_a_view_whose_source_is_dropped_stays_until_that_is_back(bring, rows, lake, folder):
    add_silver(lake, "uno", "ann", "ann")
    add_silver(lake, "go_fish", "cid", "cid")
    bring(CHAIN)
    shutil.rmtree(folder(CHAIN, OFTEN, "uno"))
    done, held = bring(CHAIN, views=["total"])
    assert done == set()
    gone = "gold_uno_often, which it was computed from, is gone until gold_all.often is refreshed"
    assert held == {EVERY_KEY: gone}
    assert len(rows(CHAIN, TOTAL)) == 2
    done, held = bring(CHAIN)
    assert (done, held) == ({("often", "uno"), ("total", EVERY_KEY)}, {})


def test_a_rebuild_computes_from_what_is_there(bring, rows, lake, folder):
    add_silver(lake, "uno", "ann", "ann")
    add_silver(lake, "go_fish", "cid", "cid")
    bring(CHAIN)
    shutil.rmtree(folder(CHAIN, OFTEN, "uno"))
    done, _ = bring(CHAIN, views=["total"], full_refresh=True)
    assert done == {("total", EVERY_KEY)}
    assert rows(CHAIN, TOTAL) == [{"game_name": "go_fish", "n": 2}]


def test_a_rebuild_of_what_a_view_reads_is_followed(bring, lake):
    add_silver(lake, "uno", "ann", "ann")
    bring(CHAIN)
    bring(CHAIN, views=["often"], full_refresh=True)
    assert bring(CHAIN)[0] == {("total", EVERY_KEY)}


def test_a_source_that_was_restored_or_put_back_from_a_copy_is_another(
    bring, rows, lake, folder, tmp_path
):
    add_silver(lake, "uno", "ann", "ann")
    bring(CHAIN)
    agg = folder(CHAIN, AGG, "uno")
    shutil.copytree(agg, tmp_path / "copy")
    add_silver(lake, "uno", "ann", start=20)
    bring(CHAIN)
    assert rows(CHAIN, OFTEN, "uno") == [{"gamer_id": "ann", "n": 3}]
    shutil.rmtree(agg)
    shutil.copytree(tmp_path / "copy", agg)
    assert bring(CHAIN, views=["often"])[0] == {("often", "uno")}
    assert rows(CHAIN, OFTEN, "uno") == [{"gamer_id": "ann", "n": 2}]
    # Its own refresh repairs it, at the version that it had, by another commit.
    assert bring(CHAIN)[0] == {("player_agg", "uno"), ("often", "uno"), ("total", EVERY_KEY)}
    assert rows(CHAIN, OFTEN, "uno") == [{"gamer_id": "ann", "n": 3}]
    DeltaTable(agg).restore(DeltaTable(agg).version() - 1)
    assert bring(CHAIN, views=["often"])[0] == {("often", "uno")}


def test_a_game_that_is_held_up_keeps_what_follows_and_says_so(bring, rows, lake):
    add_silver(lake, "uno", "ann", "ann")
    add_silver(lake, "go_fish", "cid", "cid")
    bring(CHAIN)
    add_silver(lake, "uno", "ann", start=20)
    done, held = bring(CHAIN, blocked={"uno": "it fails"})
    assert done == set()
    assert held["uno"] == "gold.player_agg, which it reads, is held up: it fails"
    assert held[EVERY_KEY].startswith("gold_all.often of uno, which it reads, is held up: ")
    add_silver(lake, "go_fish", "cid", start=20)
    done, _ = bring(CHAIN, blocked={"uno": "it fails"})
    assert done == {("player_agg", "go_fish"), ("often", "go_fish"), ("total", EVERY_KEY)}
    assert [row["n"] for row in rows(CHAIN, TOTAL)] == [3, 2]


def test_what_a_failed_view_is_read_by_stays_as_it_is_and_is_named(bring, rows, lake, caplog):
    add_silver(lake, "uno", "ann", "ann")
    bring(CHAIN)
    add_silver(lake, "uno", "ann", start=20)
    broken = OFTEN.model_copy(update={"sql": "select nothing as n from gold.player_agg"})
    feed = CHAIN.model_copy(update={"gold": (TOTAL, broken, AGG)})
    with pytest.raises(FeedError, match=r"gold.player_agg's columns are gamer_id, session_count"):
        bring(feed)
    assert "total stay as they are: often, which they read, cannot be refreshed" in caplog.text
    assert rows(CHAIN, TOTAL) == [{"game_name": "uno", "n": 2}]
    assert rows(CHAIN, AGG, "uno") == [{"gamer_id": "ann", "session_count": 3}]


STATEFUL = GoldView(name="means", keys=["gamer_id"], measures={"second": "avg(_offset)"})
ALL = GoldView(name="everything", sql="select * from gold.means")


def test_a_query_does_not_see_what_refreshes_keep_for_themselves(bring, rows, lake):
    feed = GAMES.model_copy(update={"gold": (STATEFUL, ALL)})
    add_silver(lake, "uno", "ann", "ann")
    bring(feed)
    assert set(rows(feed, STATEFUL, "uno")[0]) > {"gamer_id", "second"}
    assert rows(feed, ALL, "uno") == [{"gamer_id": "ann", "second": 0.5}]


MOST = GoldView(name="most", sql="select gamer_id, session_count as n from gold.player_agg")
FIRST = RENAMED.model_copy(update={"gold": (AGG, MOST)})
CLICKS = WITHOUT_ROUTE.model_copy(update={"gold": ()})
READER = GAMES.model_copy(
    update={
        "gold": (
            GoldView(
                name="both",
                sql="select silver.gamer_id, o.game_name as other, o.n from silver "
                "join renamed.gold.most as o using (gamer_id)",
            ),
            GoldView(
                name="clickers",
                sql="select gamer_id, count(*) as n from clicks.silver group by gamer_id",
            ),
        )
    }
).beside([FIRST, CLICKS])
BOTH, CLICKERS = READER.gold


@pytest.fixture
def three(lake):
    """Silver of three feeds, one of which has no route."""
    add_silver(lake, "uno", "ann")
    add_silver(lake, "uno", "ann", "ann", feed=RENAMED)
    add_silver(lake, "go_fish", "ann", "bob", feed=RENAMED)
    add_silver(lake, "clicks", "cid", feed=WITHOUT_ROUTE)


@pytest.mark.usefixtures("three")
def test_a_view_reads_other_feeds_with_all_their_keys(bring, rows, lake):
    assert bring(READER, views=["both"])[1] == {
        "uno": "renamed.gold.most, which it reads, has no table yet"
    }
    bring(FIRST)
    done, _ = bring(READER)
    assert done == {("both", "uno"), ("clickers", EVERY_KEY)}
    assert rows(READER, BOTH, "uno") == [
        {"gamer_id": "ann", "other": "go_fish", "n": 1},
        {"gamer_id": "ann", "other": "uno", "n": 2},
    ]
    assert rows(READER, CLICKERS) == [{"gamer_id": "cid", "n": 1}]
    assert bring(READER) == (set(), {})
    add_silver(lake, "clicks", "cid", start=20, feed=WITHOUT_ROUTE)
    assert bring(READER)[0] == {("clickers", EVERY_KEY)}
    add_silver(lake, "go_fish", "ann", start=20, feed=RENAMED)
    assert bring(READER)[0] == set()
    bring(FIRST)
    assert bring(READER)[0] == {("both", "uno")}


@pytest.mark.usefixtures("three")
def test_what_is_blocking_in_another_feed_holds_up_who_reads_it(bring, lake, settings):
    rule = Expectation(name="known", sql="gamer_id <> ''", blocking=True)
    clicks = CLICKS.model_copy(update={"expectations": (rule,)})
    reader = READER.beside([FIRST, clicks])
    bring(reader, views=["clickers"])
    add_silver(lake, "clicks", "cid", start=20, feed=WITHOUT_ROUTE)
    verdict = Verdict(key="clicks", name="known", severity=Severity.ERROR, words="1 of 1 rows")
    note_verdicts(settings.state_dir, "clicks", [verdict], datetime(2026, 1, 1, tzinfo=UTC))
    assert views_behind(settings, reader, {}, views=["clickers"]) == {"clickers": ()}
    assert views_behind(settings, reader, views=["clickers"]) == {"clickers": (EVERY_KEY,)}
    done, held = bring(reader, views=["clickers"], blocked={"clicks.clicks": "known fails"})
    assert (done, held) == (set(), {EVERY_KEY: "clicks.clicks: known fails"})


def test_a_table_that_is_anothers_is_not_read(bring, lake):
    add_silver(lake, "uno", "ann")
    committer = Committer(LocalStore.at(lake), threads=1)
    table = CHAIN.gold_table(AGG, "uno")
    committer.create({table: SCHEMA}, owners={table: Owner(feed="else", key="uno", view="x")})
    committer.close()
    with pytest.raises(TableOwnedError, match="is the table of view 'x' of key 'uno' of feed"):
        bring(CHAIN, views=["often"])
