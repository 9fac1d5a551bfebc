from dataclasses import replace

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake import Field as DeltaField

from lake_assets.delta.table_owners import owner_of
from lake_assets.errors import FeedError, TableOwnedError
from lake_assets.gold.refresh import refresh
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner
from lake_assets.model.reports import Mode, ViewRefresh
from lake_assets.model.routes import Route
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import SCHEMA, add_silver, append_silver
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE, gold_of, silver_of

pytestmark = pytest.mark.spark

GAME_NAMES = ("uno", "go_fish")

BY_HEADER = Route(header="game", keys=GAME_NAMES)

VIEW = GoldView(
    name="player_agg",
    keys=("gamer_id",),
    measures={
        "session_count": "count(*)",
        "min_timestamp": "min(event_timestamp)",
        "max_timestamp": "max(event_timestamp)",
        "mean_offset": "avg(_offset)",
    },
)

SAME_IN_DUCKDB = """
    select gamer_id, count(*), min(event_timestamp), max(event_timestamp), avg(_offset)
    from silver group by gamer_id
"""


@pytest.fixture
def bring(spark, context):
    def run(view=VIEW, keys=GAME_NAMES):
        return refresh(spark, GAMES, view, keys, context)

    return run


def gold(lake, key, view=VIEW):
    return DeltaTable(lake / gold_of(key, view.name).relative)


def visible(handle):
    table = handle.to_pyarrow_table()
    return table.select([n for n in table.column_names if not n.startswith("_state_")]).to_pylist()


def rows(lake, key, view=VIEW):
    found = visible(gold(lake, key, view))
    return by_key(tuple(row.values()) for row in found)


def by_key(found):
    return sorted(found, key=lambda row: (row[0] is not None, row[0]))


def recomputed(lake, key):
    table = DeltaTable(lake / silver_of(key).relative).to_pyarrow_table()
    with duckdb.connect() as db:
        return by_key(db.from_arrow(table).query("silver", SAME_IN_DUCKDB).fetchall())


@pytest.mark.parametrize("key", GAME_NAMES)
def test_each_game_equals_a_recomputation_with_another_engine(bring, lake, key):
    add_silver(lake, "uno", "ann", "bob", "ann", "")
    add_silver(lake, "uno", "ann", None, start=10)
    add_silver(lake, "go_fish", "ann", "cid", start=20)
    bring()
    assert rows(lake, key) == recomputed(lake, key)


def test_a_refresh_says_what_it_wrote(bring, lake):
    add_silver(lake, "uno", "ann", "bob", "ann")
    add_silver(lake, "uno", "ann")
    assert bring().refreshed == (
        ViewRefresh(
            key="uno",
            view="player_agg",
            rows=2,
            silver_version=1,
            files=1,
            mode=Mode.FULL,
            why="the key's first refresh",
            rows_read=4,
            rows_written=2,
        ),
    )
    add_silver(lake, "uno", "cid", "cid")
    assert bring().refreshed == (
        ViewRefresh(
            key="uno",
            view="player_agg",
            rows=3,
            silver_version=2,
            files=1,
            mode=Mode.INCREMENTAL,
            why="silver gained 1 file since",
            rows_read=2,
            rows_written=3,
        ),
    )


def test_only_games_that_changed_are_written(bring, lake):
    add_silver(lake, "uno", "ann")
    add_silver(lake, "go_fish", "ann")
    bring()
    before = gold(lake, "go_fish").version()
    add_silver(lake, "uno", "bob", start=5)
    report = bring()
    assert [one.key for one in report.refreshed] == ["uno"]
    assert report.up_to_date == (("go_fish", "player_agg"),)
    assert gold(lake, "go_fish").version() == before


def test_a_changed_game_has_its_new_rows_and_no_old_ones(bring, lake):
    add_silver(lake, "uno", "ann")
    bring()
    add_silver(lake, "uno", "ann", "bob", start=5)
    bring()
    assert rows(lake, "uno") == recomputed(lake, "uno")


def test_nothing_new_writes_nothing(bring, lake):
    add_silver(lake, "uno", "ann")
    bring()
    assert bring().refreshed == ()
    assert gold(lake, "uno").version() == 1


def test_a_game_without_silver_gets_no_gold(bring, lake):
    add_silver(lake, "uno", "ann")
    report = bring()
    assert [one.key for one in report.refreshed] == ["uno"]
    assert not (lake / gold_of("go_fish", VIEW.name).relative).exists()


def test_an_empty_silver_gives_an_empty_gold_with_the_views_columns(bring, lake):
    write_deltalake(lake / silver_of("uno").relative, SCHEMA.empty_table())
    bring()
    found = gold(lake, "uno").to_pyarrow_table()
    assert (found.num_rows, found.column_names) == (
        0,
        ["gamer_id", *VIEW.measures, "_state_mean_offset"],
    )


def test_an_empty_silver_is_up_to_date_after_its_refresh(bring, lake):
    write_deltalake(lake / silver_of("uno").relative, SCHEMA.empty_table())
    bring()
    assert bring().up_to_date == (("uno", "player_agg"),)


def test_rows_that_left_silver_leave_gold(bring, lake):
    add_silver(lake, "uno", "ann", "bob")
    bring()
    DeltaTable(lake / silver_of("uno").relative).delete("gamer_id = 'bob'")
    bring()
    assert [row[0] for row in rows(lake, "uno")] == ["ann"]


def test_a_view_that_is_defined_anew_has_its_new_columns(bring, lake):
    add_silver(lake, "uno", "ann", "ann")
    bring()
    full_refresh = VIEW.model_copy(
        update={"measures": {"n": "count(*)", "session_count": "'text'"}}
    )
    bring(full_refresh)
    assert gold(lake, "uno").to_pyarrow_table().to_pylist() == [
        {"gamer_id": "ann", "n": 2, "session_count": "text"}
    ]


def test_games_with_different_columns_are_refreshed_together(bring, lake):
    add_silver(lake, "go_fish", "ann")
    wider = SCHEMA.append(pa.field("col_custom_1", pa.string()))
    row = {"game_name": "uno", "gamer_id": "ann", "col_custom_1": "x"}
    write_deltalake(lake / silver_of("uno").relative, pa.Table.from_pylist([row], schema=wider))
    view = GoldView(name="custom", keys=("gamer_id",), measures={"n": "count(col_custom_1)"})
    bring(view)
    assert [rows(lake, key, view) for key in GAME_NAMES] == [[("ann", 1)], [("ann", 0)]]


def test_a_view_over_a_column_of_tomorrow_works_once_it_is_there(bring, lake):
    add_silver(lake, "uno", "ann")
    view = GoldView(name="custom", keys=("gamer_id",), measures={"n": "count(col_custom_1)"})
    with pytest.raises(FeedError, match="col_custom_1"):
        bring(view)
    DeltaTable(lake / silver_of("uno").relative).alter.add_columns(
        [DeltaField("col_custom_1", "string")]
    )
    row = {"game_name": "uno", "gamer_id": "ann", "col_custom_1": "x"}
    wider = SCHEMA.append(pa.field("col_custom_1", pa.string()))
    added = pa.Table.from_pylist([row], schema=wider)
    write_deltalake(lake / silver_of("uno").relative, added, mode="append")
    bring(view)
    assert rows(lake, "uno", view) == [("ann", 1)]


def test_a_measure_that_names_no_column_is_an_error_that_lists_them(bring, lake):
    add_silver(lake, "uno", "ann")
    view = GoldView(name="bad", keys=("gamer_id",), measures={"n": "sum(gold_coins)"})
    with pytest.raises(FeedError, match="gold view 'bad' of feed 'games'") as caught:
        bring(view)
    assert "gold_coins" in caught.value.fact
    assert "game_name, gamer_id, event_timestamp" in caught.value.next_step


@pytest.mark.parametrize("sql", ["gamer_id", "count(", "row_number()"])
def test_a_measure_that_is_no_aggregate_is_an_error_of_the_feed(bring, lake, sql):
    add_silver(lake, "uno", "ann")
    view = GoldView(name="bad", keys=("device_id",), measures={"n": sql})
    with pytest.raises(FeedError) as caught:
        bring(view)
    assert "\n" not in str(caught.value)


def test_a_key_that_names_no_column_is_an_error(bring, lake):
    add_silver(lake, "uno", "ann")
    with pytest.raises(FeedError, match="player"):
        bring(GoldView(name="bad", keys=("player",), measures={"n": "count(*)"}))


def test_a_bad_view_leaves_the_last_good_rows(bring, lake):
    add_silver(lake, "uno", "ann")
    bring()
    add_silver(lake, "uno", "bob")
    with pytest.raises(FeedError):
        bring(VIEW.model_copy(update={"measures": {"n": "sum(nothing)"}}))
    assert [row[0] for row in rows(lake, "uno")] == ["ann"]


def test_a_blocked_game_is_left_as_it_is(spark, context, lake):
    for key in GAME_NAMES:
        add_silver(lake, key, "ann")
    report = refresh(
        spark, GAMES, VIEW, GAME_NAMES, context, {"uno": "a reason", "chess": "another"}
    )
    assert [one.key for one in report.refreshed] == ["go_fish"]
    assert report.blocked == {"uno": "a reason"}
    report = refresh(
        spark, GAMES, VIEW, GAME_NAMES, context, {"go_fish": "it is up to date anyway"}
    )
    assert ([one.key for one in report.refreshed], report.blocked) == (["uno"], {})


@pytest.mark.parametrize(
    ("keys", "measures", "one"),
    [
        ({"gamer_id": "gamer_id"}, {"at": "max(current_timestamp())"}, "at"),
        ({"gamer_id": "gamer_id", "at": "now()"}, {"n": "count(*)"}, "at"),
        ({"luck": "rand()"}, {"n": "count(*)"}, "n"),
    ],
)
def test_a_view_that_asks_the_clock_or_chance_is_as_if_computed_at_once(
    bring, lake, keys, measures, one
):
    view = GoldView(name="asks", keys=keys, measures=measures)
    add_silver(lake, "uno", "ann", "bob")
    bring(view)
    add_silver(lake, "uno", "cid", start=10)
    (found,) = bring(view).refreshed
    assert (found.mode, found.rows_read) == (Mode.FULL, 3)
    assert "depends on when it is computed, or on chance" in found.why
    table = gold(lake, "uno", view).to_pyarrow_table()
    assert (table.num_rows, len(set(table[one].to_pylist()))) == (3, 1)


def test_gold_records_whose_it_is(bring, lake):
    add_silver(lake, "uno", "ann")
    bring()
    found = owner_of(LocalStore.at(lake), gold_of("uno", VIEW.name))
    assert found == Owner(feed="games", key="uno", view=VIEW.name)


def test_anothers_gold_is_left_as_it_is(bring, context, lake):
    table, other = gold_of("uno", VIEW.name), Owner(feed="cards", key="uno", view=VIEW.name)
    context.committer.create({table: SCHEMA}, owners={table: other})
    add_silver(lake, "uno", "ann")
    with pytest.raises(TableOwnedError, match="is the table of view 'player_agg' of key 'uno' of"):
        bring()
    assert gold(lake, "uno").version() == 0


def test_gold_of_a_release_without_the_record_gets_it_and_is_recomputed(bring, context, lake):
    table = gold_of("uno", VIEW.name)
    context.committer.create({table: SCHEMA})
    add_silver(lake, "uno", "ann")
    (found,) = bring().refreshed
    assert (found.mode, rows(lake, "uno")) == (Mode.FULL, recomputed(lake, "uno"))
    assert owner_of(LocalStore.at(lake), table) == Owner(feed="games", key="uno", view=VIEW.name)


def session_counts(lake, feed, key):
    found = visible(DeltaTable(lake / feed.gold_table(VIEW, key).relative))
    return {row["gamer_id"]: row["session_count"] for row in found}


# With one row a bucket the second refresh is Spark's, else it is merged in tasks.
@pytest.mark.parametrize("bucket_rows", [1, 1000])
def test_two_feeds_of_one_key_have_views_under_names_of_their_own(
    spark, context, lake, bucket_rows
):
    context, feeds = replace(context, bucket_rows=bucket_rows), (GAMES, RENAMED)

    def bring_all():
        done = [refresh(spark, feed, VIEW, GAME_NAMES, context).refreshed for feed in feeds]
        return [{one.key: one.mode for one in refreshed} for refreshed in done]

    add_silver(lake, "uno", "ann", "ann", "bob")
    add_silver(lake, "uno", "cid", "dan", "eve", feed=RENAMED)
    add_silver(lake, "go_fish", "eve", feed=RENAMED)
    assert bring_all() == [{"uno": Mode.FULL}, {"uno": Mode.FULL, "go_fish": Mode.FULL}]
    add_silver(lake, "uno", "bob", start=10)
    add_silver(lake, "uno", "cid", start=10, feed=RENAMED)
    assert bring_all() == [{"uno": Mode.INCREMENTAL}, {"uno": Mode.INCREMENTAL}]
    assert session_counts(lake, GAMES, "uno") == {"ann": 2, "bob": 2}
    assert session_counts(lake, RENAMED, "uno") == {"cid": 2, "dan": 1, "eve": 1}
    assert session_counts(lake, RENAMED, "go_fish") == {"eve": 1}
    assert bring_all() == [{}, {}]
    table = RENAMED.gold_table(VIEW, "uno")
    assert table.name == "player_agg_of_uno"
    assert owner_of(LocalStore.at(lake), table) == Owner(
        feed="renamed", key="uno", view="player_agg"
    )
    assert sorted(path.name for path in (lake / "gold").iterdir()) == [
        "gold_uno_player_agg",
        "player_agg_of_go_fish",
        "player_agg_of_uno",
    ]


@pytest.mark.parametrize("bucket_rows", [1, 1000])
def test_a_feed_without_a_route_has_one_table_whatever_its_rows_say(
    spark, context, lake, bucket_rows
):
    context = replace(context, bucket_rows=bucket_rows)

    def add(*gamers):
        rows = [{"gamer_id": gamer} for gamer in gamers]
        silver = pa.Table.from_pylist(rows, schema=SCHEMA.remove(0))
        append_silver(lake, "clicks", silver, WITHOUT_ROUTE)
        (done,) = refresh(spark, WITHOUT_ROUTE, VIEW, ["clicks"], context).refreshed
        return done.key, done.mode

    assert add("ann", "bob", "ann", "cid") == ("clicks", Mode.FULL)
    assert add("ann", "dan") == ("clicks", Mode.INCREMENTAL)
    counts = {"ann": 3, "bob": 1, "cid": 1, "dan": 1}
    assert session_counts(lake, WITHOUT_ROUTE, "clicks") == counts


def test_a_view_whose_measures_changed_places_is_merged_again_after_one_recomputation(bring, lake):
    one = VIEW.model_copy(update={"measures": {"n": "count(*)", "late": "count_if(_offset > 0)"}})
    other = one.model_copy(update={"measures": dict(reversed(one.measures.items()))})
    whys = []
    for view in (one, other, other, other):
        add_silver(lake, "uno", "ann", "bob")
        (found,) = bring(view, ["uno"]).refreshed
        whys.append(found.why)
    assert whys[2:] == ["silver gained 1 file since"] * 2


def test_a_key_that_no_column_holds_is_told_by_the_table(spark, context, lake):
    feed = RENAMED.model_copy(update={"route": BY_HEADER})
    rows = pa.table({"game_name": ["?", "?"], "gamer_id": ["ann", "bob"]})
    for key in GAME_NAMES:
        append_silver(lake, key, rows, feed)
    view = GoldView(name="agg", keys=("gamer_id",), measures={"n": "count(distinct game_name)"})
    done = refresh(spark, feed, view, GAME_NAMES, context)
    assert {one.key: one.rows for one in done.refreshed} == dict.fromkeys(GAME_NAMES, 2)
    for key in GAME_NAMES:
        found = DeltaTable(lake / feed.gold_table(view, key).relative)
        assert sorted(row["gamer_id"] for row in visible(found)) == ["ann", "bob"]
