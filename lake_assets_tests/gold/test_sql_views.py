from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import ExpectationFailedError, FeedError
from lake_assets.gold.sql_views import refresh_sql_views
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Judged, ViewRefresh
from lake_assets.model.tables import EVERY_KEY
from lake_assets_tests.gold.silver import SCHEMA, add_silver
from lake_assets_tests.sample import GAMES, RENAMED, silver_of

pytestmark = pytest.mark.spark

GAME_NAMES = ("uno", "go_fish")

FIRST = GoldView(
    name="first",
    sql="""
        select gamer_id, event_timestamp, row_number() over (order by event_timestamp) as place
        from silver qualify row_number() over (order by event_timestamp) <= 2
    """,
)
SHARES = GoldView(
    name="shares", sql="select game_name, count(*) as events from silver_all group by game_name"
)


@pytest.fixture
def bring(spark, context):
    def run(view, keys=GAME_NAMES, blocked=None, **options):
        feed = GAMES.model_copy(update={"gold": (view,)})
        return refresh_sql_views(spark, feed, view, keys, context, blocked, **options)

    return run


def gold(lake, view, scope=EVERY_KEY):
    return DeltaTable(lake / GAMES.gold_table(view, scope).relative)


def rows(lake, view, scope=EVERY_KEY):
    return gold(lake, view, scope).to_pyarrow_table().to_pylist()


def files(lake):
    return sorted(lake.glob("gold/*/*.parquet"))


def test_each_game_has_what_the_query_gives_over_its_silver(bring, lake):
    add_silver(lake, "uno", "ann", "bob", "cid")
    add_silver(lake, "go_fish", "dan", start=20)
    bring(FIRST)
    at = [datetime.fromtimestamp(second, UTC) for second in (0, 1, 20)]
    assert rows(lake, FIRST, "uno") == [
        {"gamer_id": "ann", "event_timestamp": at[0], "place": 1},
        {"gamer_id": "bob", "event_timestamp": at[1], "place": 2},
    ]
    assert rows(lake, FIRST, "go_fish") == [
        {"gamer_id": "dan", "event_timestamp": at[2], "place": 1}
    ]


def test_a_view_over_all_games_has_one_table_of_all_their_rows(bring, lake):
    add_silver(lake, "uno", "ann", "bob")
    add_silver(lake, "go_fish", "ann")
    (done,) = bring(SHARES).refreshed
    assert done == ViewRefresh(
        key=EVERY_KEY,
        view="shares",
        rows=2,
        silver_version=None,
        files=1,
        why="a query is recomputed in full",
        rows_read=3,
        rows_written=2,
    )
    found = {row["game_name"]: row["events"] for row in rows(lake, SHARES)}
    assert found == {"uno": 2, "go_fish": 1}


def test_many_games_at_once_do_not_mix(lake, spark, context):
    keys = tuple(f"game_{number}" for number in range(12))
    for number, key in enumerate(keys):
        add_silver(lake, key, *[f"{key}_{n}" for n in range(number + 1)])
    feed = GAMES.model_copy(update={"route": GAMES.route.model_copy(update={"keys": keys})})
    view = GoldView(name="who", sql="select count(*) as n, min(gamer_id) as first from silver")
    report = refresh_sql_views(spark, feed, view, keys, context)
    assert [one.key for one in report.refreshed] == list(keys)
    assert [rows(lake, view, key) for key in keys] == [
        [{"n": number + 1, "first": f"{key}_0"}] for number, key in enumerate(keys)
    ]


def test_only_games_that_changed_are_computed(bring, lake):
    for key in GAME_NAMES:
        add_silver(lake, key, "ann")
    bring(FIRST)
    before = gold(lake, FIRST, "go_fish").version()
    add_silver(lake, "uno", "bob", start=5)
    report = bring(FIRST)
    assert [(one.key, one.rows, one.silver_version) for one in report.refreshed] == [("uno", 2, 1)]
    assert report.up_to_date == (("go_fish", "first"),)
    assert gold(lake, FIRST, "go_fish").version() == before


def test_a_view_over_all_is_computed_when_any_game_changed(bring, lake):
    add_silver(lake, "uno", "ann")
    bring(SHARES)
    assert bring(SHARES).up_to_date == ((EVERY_KEY, "shares"),)
    add_silver(lake, "go_fish", "ann")
    assert [one.rows for one in bring(SHARES).refreshed] == [2]
    assert bring(SHARES).refreshed == ()


def test_a_view_over_all_reads_the_games_that_were_not_asked_for(bring, lake):
    for key in GAME_NAMES:
        add_silver(lake, key, "ann")
    bring(SHARES, keys=("uno",))
    assert len(rows(lake, SHARES)) == 2


def test_all_is_computed_anew_if_asked(bring, lake):
    add_silver(lake, "uno", "ann")
    for view in (FIRST, SHARES):
        bring(view)
        assert len(bring(view, full_refresh=True).refreshed) == 1


def test_a_query_that_changed_is_computed_anew(bring, lake):
    add_silver(lake, "uno", "ann")
    bring(FIRST)
    full_refresh = GoldView(name="first", sql="select 'text' as place from silver")
    bring(full_refresh)
    assert rows(lake, full_refresh, "uno") == [{"place": "text"}]


def test_nothing_is_computed_without_silver(bring, lake):
    for view in (FIRST, SHARES):
        report = bring(view)
        assert (report.refreshed, report.up_to_date) == ((), ())
    assert files(lake) == []


def test_a_result_without_rows_is_an_empty_table(bring, lake):
    add_silver(lake, "uno", "ann")
    view = GoldView(name="none", sql="select gamer_id from silver where false")
    bring(view)
    found = gold(lake, view, "uno").to_pyarrow_table()
    assert (found.num_rows, found.column_names) == (0, ["gamer_id"])
    assert bring(view).up_to_date == (("uno", "none"),)


def test_a_column_that_one_game_lacks_is_null_there(bring, lake):
    add_silver(lake, "go_fish", "ann")
    wider = SCHEMA.append(pa.field("col_custom_1", pa.string()))
    row = {"game_name": "uno", "gamer_id": "ann", "col_custom_1": "x"}
    write_deltalake(lake / silver_of("uno").relative, pa.Table.from_pylist([row], schema=wider))
    view = GoldView(name="custom", sql="select col_custom_1 from silver")
    bring(view)
    found = [rows(lake, view, key) for key in GAME_NAMES]
    assert found == [[{"col_custom_1": "x"}], [{"col_custom_1": None}]]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select gold_coins from silver", r"does not compile .*gold_coins.*columns are game_name"),
        ("select count(*) from silver", r"has a column 'count\(1\)'"),
        ("select gamer_id, device_id as GAMER_ID from silver", "has two columns called gamer_id"),
        ("select null as nothing from silver", "has a column 'nothing' of type void"),
        ("select parse_json('1') as any from silver", "has a column 'any' of type variant"),
        ("select struct(now() - now() as age) as s from silver", "has a column 's' of type struct"),
        ("select `_offset` / 0 as n from silver", r"fails .*Division by zero"),
        ("select cast(gamer_id as int) as n from silver", r"fails .*cannot be cast"),
    ],
)
def test_a_query_that_cannot_be_computed_is_an_error_of_the_feed(bring, lake, sql, said):
    add_silver(lake, "uno", "ann")
    with pytest.raises(FeedError, match=said) as caught:
        bring(GoldView(name="bad", sql=sql))
    assert str(caught.value).startswith("gold view 'bad' of feed 'games': ")
    assert "\n" not in str(caught.value)
    assert files(lake) == []


def test_if_one_game_cannot_be_computed_none_is_changed(bring, lake):
    add_silver(lake, "uno", "1")
    add_silver(lake, "go_fish", "ann")
    view = GoldView(name="bad", sql="select cast(gamer_id as int) as n from silver")
    with pytest.raises(FeedError):
        bring(view)
    assert files(lake) == []
    assert not (lake / GAMES.gold_table(view, "uno").relative).joinpath("_delta_log").exists()


def expecting(action, view=SHARES, sql="events > 1"):
    expectation = Expectation(name="busy", sql=sql, action=action)
    return view.model_copy(update={"expectations": (expectation,)})


def test_rows_that_violate_an_expectation_are_dropped_and_counted(bring, lake):
    add_silver(lake, "uno", "ann", "bob")
    add_silver(lake, "go_fish", "ann")
    view = expecting(Action.DROP)
    assert bring(view).judged == {(EVERY_KEY, "busy"): Judged(seen=2, violated=1)}
    assert [row["game_name"] for row in rows(lake, view)] == ["uno"]


def test_an_expectation_that_fails_leaves_all_games_as_they_were(bring, lake):
    for key in GAME_NAMES:
        add_silver(lake, key, "ann")
    view = expecting(Action.FAIL, FIRST, "gamer_id <> 'bob'")
    bring(view)
    kept = files(lake)
    add_silver(lake, "uno", "bob")
    add_silver(lake, "go_fish", "cid")
    with pytest.raises(ExpectationFailedError, match="of key 'uno'"):
        bring(view)
    assert files(lake) == kept
    assert [row["gamer_id"] for row in rows(lake, view, "go_fish")] == ["ann"]


def test_an_expectation_that_does_not_compile_is_an_error(bring, lake):
    add_silver(lake, "uno", "ann")
    with pytest.raises(FeedError, match="expectation 'busy' of gold view 'shares'"):
        bring(expecting(Action.WARN, sql="nothing > 1"))


def test_a_blocked_game_is_left_as_it_is(bring, lake):
    for key in GAME_NAMES:
        add_silver(lake, key, "ann")
    report = bring(FIRST, blocked={"uno": "a reason"})
    assert [one.key for one in report.refreshed] == ["go_fish"]
    assert report.blocked == {"uno": "a reason"}


def test_a_blocked_game_holds_up_the_view_over_all_until_it_is_in_it(bring, lake):
    for key in GAME_NAMES:
        add_silver(lake, key, "ann")
    assert bring(SHARES, blocked={"uno": "a reason"}).blocked == {EVERY_KEY: "uno: a reason"}
    assert not (lake / GAMES.gold_table(SHARES, EVERY_KEY).relative).exists()
    bring(SHARES)
    add_silver(lake, "go_fish", "bob")
    assert len(bring(SHARES, blocked={"uno": "a reason"}).refreshed) == 1


def test_a_query_reads_and_writes_tables_as_its_feed_names_them(spark, context, lake):
    feed = RENAMED.model_copy(update={"gold": (FIRST, SHARES)})
    add_silver(lake, "uno", "nobody_of_this_feed")
    add_silver(lake, "uno", "ann", "bob", feed=RENAMED)
    add_silver(lake, "go_fish", "cid", feed=RENAMED)
    for view in (FIRST, SHARES):
        refresh_sql_views(spark, feed, view, GAME_NAMES, context)
    first = DeltaTable(lake / "gold" / "first_of_uno").to_pyarrow_table().to_pylist()
    assert [row["gamer_id"] for row in first] == ["ann", "bob"]
    shares = DeltaTable(lake / "gold" / "all_renamed_shares").to_pyarrow_table().to_pylist()
    assert {row["game_name"]: row["events"] for row in shares} == {"uno": 2, "go_fish": 1}
