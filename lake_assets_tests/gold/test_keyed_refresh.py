import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.widen import widen
from lake_assets.errors import ExpectationFailedError, FeedError
from lake_assets.gold.keyed_refresh import refresh_keyed
from lake_assets.gold.refresh import refresh
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Mode
from lake_assets_tests.gold.changes import (
    CURRENT,
    FEED,
    HISTORY,
    SCHEMA,
    history_of,
    newest_of,
    rows_of,
)
from lake_assets_tests.gold.silver import append_silver

pytestmark = pytest.mark.spark


@pytest.fixture
def bring(spark, context):
    def bring(view=CURRENT, *, deletes=True, keys=("uno",), **options):
        if deletes:
            refresh(spark, FEED, FEED.view(f"{view.name}_deletes"), keys, context)
        return {
            one.key: one
            for one in refresh_keyed(spark, FEED, view, keys, context, **options).refreshed
        }

    return bring


@pytest.fixture
def rows(lake):
    def rows(view=CURRENT, key="uno"):
        table = DeltaTable(lake / FEED.gold_table(view, key).relative).to_pyarrow_table()
        names = ("id", "__start_at", "__end_at") if view is HISTORY else ("id", "version")
        columns = [table[name].to_pylist() for name in (*names, "value", "_offset")]
        return sorted(zip(*columns, strict=True), key=lambda row: row[:2])

    return rows


def test_the_change_with_the_greatest_order_counts(bring, rows, lake):
    changes = [(1, 1, "I", "a", 0), (2, 5, "I", "b", 1), (1, 3, "U", "c", 2), (1, 2, "U", "d", 3)]
    append_silver(lake, "uno", rows_of(changes), FEED)
    done = bring()["uno"]
    assert (done.mode, done.rows) == (Mode.FULL, 2)
    assert rows() == [(1, 3, "c", 2), (2, 5, "b", 1)] == newest_of(changes)
    append_silver(lake, "uno", rows_of([(2, 4, "U", "old", 4), (3, 1, "I", "new", 5)]), FEED)
    done = bring()["uno"]
    assert (done.mode, done.rows_read) == (Mode.INCREMENTAL, 2)
    assert rows() == [(1, 3, "c", 2), (2, 5, "b", 1), (3, 1, "new", 5)]
    assert bring() == {}


def test_an_older_change_does_not_bring_a_deleted_row_back(bring, rows, lake):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "a", 0), (2, 1, "I", "b", 1)]), FEED)
    bring()
    append_silver(lake, "uno", rows_of([(1, 5, "D", None, 2)]), FEED)
    bring()
    assert rows() == [(2, 1, "b", 1)]
    append_silver(lake, "uno", rows_of([(1, 4, "U", "late", 3)]), FEED)
    assert bring()["uno"].mode is Mode.INCREMENTAL
    assert rows() == [(2, 1, "b", 1)]
    append_silver(lake, "uno", rows_of([(1, 6, "I", "again", 4)]), FEED)
    bring()
    assert rows() == [(1, 6, "again", 4), (2, 1, "b", 1)]


@pytest.mark.parametrize("deletes", [True, False])
def test_a_delete_is_known_though_its_own_view_lags(bring, rows, lake, deletes):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "a", 0)]), FEED)
    bring()
    append_silver(lake, "uno", rows_of([(1, 5, "D", None, 2)]), FEED)
    assert bring(deletes=deletes)["uno"].mode is Mode.INCREMENTAL
    append_silver(lake, "uno", rows_of([(1, 4, "U", "late", 3)]), FEED)
    assert bring(deletes=deletes)["uno"].mode is Mode.INCREMENTAL
    assert rows() == []


def test_without_what_it_must_remember_a_table_is_computed_in_full(bring, rows, lake):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "a", 0)]), FEED)
    bring(deletes=False)
    append_silver(lake, "uno", rows_of([(1, 5, "D", None, 2)]), FEED)
    done = bring(deletes=False)["uno"]
    assert (done.mode, done.why) == (Mode.FULL, "what it must remember has not been computed yet")
    assert rows() == []


def test_a_truncate_deletes_what_is_before_it(bring, rows, lake):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "a", 0), (2, 9, "I", "b", 1)]), FEED)
    append_silver(lake, "go_fish", rows_of([(1, 1, "I", "a", 0)], "go_fish"), FEED)
    keys = ("uno", "go_fish")
    bring(keys=keys)
    append_silver(lake, "uno", rows_of([(None, 5, "T", None, 2)]), FEED)
    bring(keys=keys)
    assert (rows(), rows(key="go_fish")) == ([(2, 9, "b", 1)], [(1, 1, "a", 0)])
    append_silver(lake, "uno", rows_of([(3, 4, "I", "late", 3), (4, 6, "I", "new", 4)]), FEED)
    append_silver(lake, "go_fish", rows_of([(3, 4, "I", "c", 1)], "go_fish"), FEED)
    assert {one.mode for one in bring(keys=keys).values()} == {Mode.INCREMENTAL}
    assert rows() == [(2, 9, "b", 1), (4, 6, "new", 4)]
    assert rows(key="go_fish") == [(1, 1, "a", 0), (3, 4, "c", 1)]


def test_of_equal_orders_the_greater_offset_counts(bring, rows, lake):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "second", 7)]), FEED)
    bring()
    append_silver(lake, "uno", rows_of([(1, 1, "I", "first", 3)]), FEED)
    bring()
    assert rows() == [(1, 1, "second", 7)]
    append_silver(lake, "uno", rows_of([(1, 1, "D", None, 8)]), FEED)
    bring()
    assert rows() == []


def test_a_history_is_cut_anew_by_what_comes_late(bring, rows, lake):
    changes: list[tuple] = [(1, 1, "I", "a", 0), (1, 9, "U", "c", 1)]
    append_silver(lake, "uno", rows_of(changes), FEED)
    bring(HISTORY)
    assert rows(HISTORY) == [(1, 1, 9, "a", 0), (1, 9, None, "c", 1)]
    for change in ((1, 5, "U", "b", 2), (1, 7, "D", None, 3), (2, 6, "D", None, 4)):
        changes = [*changes, change]
        append_silver(lake, "uno", rows_of([change]), FEED)
        assert bring(HISTORY)["uno"].mode is Mode.INCREMENTAL
        assert rows(HISTORY) == history_of(changes)
    more = [(2, 3, "I", "x", 5), (2, 4, "D", None, 6), (1, 8, "D", None, 7)]
    append_silver(lake, "uno", rows_of(more), FEED)
    bring(HISTORY)
    assert rows(HISTORY) == history_of([*changes, *more])
    assert rows(HISTORY)[-1] == (2, 3, 4, "x", 5)


def test_a_wider_and_a_new_column_are_in_the_table(bring, rows, lake, context):
    narrow = SCHEMA.set(2, pa.field("version", pa.int32()))
    first = rows_of([(1, 1, "I", "a", 0), (2, 2, "D", None, 1)]).cast(narrow)
    append_silver(lake, "uno", first, FEED)
    bring()
    table = FEED.silver_table("uno")
    wide = SCHEMA.append(pa.field("more", pa.string()))
    widen(context.committer, {table: wide})
    late = rows_of([(2, 1, "I", "late", 2), (3, 2**40, "I", "c", 3)])
    late = late.append_column("more", pa.array(["x", "y"]))
    append_silver(lake, "uno", late, FEED)
    assert bring()["uno"].mode is Mode.FULL
    append_silver(lake, "uno", late, FEED)
    assert bring()["uno"].mode is Mode.INCREMENTAL
    assert [row[:3] for row in rows()] == [(1, 1, "a"), (3, 2**40, "c")]
    gold = DeltaTable(lake / FEED.gold_table(CURRENT, "uno").relative).to_pyarrow_table()
    assert sorted(gold["more"].to_pylist(), key=str) == [None, "y"]


def test_a_table_that_another_engine_changed_is_computed_in_full(bring, rows, lake):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "a", 0), (2, 1, "I", "b", 1)]), FEED)
    bring()
    DeltaTable(lake / FEED.gold_table(CURRENT, "uno").relative).delete("id = 1")
    append_silver(lake, "uno", rows_of([(3, 1, "I", "c", 2)]), FEED)
    assert bring()["uno"].mode is Mode.FULL
    assert rows() == [(1, 1, "a", 0), (2, 1, "b", 1), (3, 1, "c", 2)]


def test_rows_that_left_silver_leave_the_table(bring, rows, lake):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "a", 0), (1, 5, "D", None, 1)]), FEED)
    bring()
    DeltaTable(lake / FEED.silver_table("uno").relative).delete("op = 'D'")
    assert bring()["uno"].mode is Mode.FULL
    assert rows() == [(1, 1, "a", 0)]


def test_changes_that_tell_no_row_or_order_are_left_out(bring, rows, lake):
    """Those that were in silver before the feed was declared so."""
    changes = [(1, None, "I", "a", 0), (None, 3, "D", None, 1), (2, 1, None, "b", 2)]
    append_silver(lake, "uno", rows_of(changes), FEED)
    bring()
    assert rows() == [(2, 1, "b", 2)] == newest_of(changes)


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"deletes": "nope = 1"}, "does not compile"),
        ({"deletes": "id"}, "does not compile"),
        ({"order": "rand()"}, "on chance"),
        ({"deletes": "now() > '2020-01-01'"}, "on when it is computed|on chance"),
        ({"order": "map(id, version)"}, "does not compile"),
        ({"by": "ident"}, "ident, which is no column of silver"),
        ({"except_columns": ["nope"]}, "nope, which is no column of silver"),
    ],
)
def test_what_silver_does_not_have_is_refused(spark, context, lake, changes, fact):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "a", 0)]), FEED)
    declared = {"by": "id", "order": "version", **changes}
    view = GoldView.model_validate({"name": "other", "keyed": declared})
    with pytest.raises(FeedError, match=fact):
        refresh_keyed(spark, FEED, view, ["uno"], context)
    assert not (lake / FEED.gold_table(view, "uno").relative).exists()


def test_several_columns_tell_rows_and_their_order(spark, context, lake):
    declared = {"by": ["id", "op"], "order": ["version", "value"], "history": 2}
    view = GoldView.model_validate({"name": "pairs", "keyed": declared})
    for changes in ([(1, 1, "a", "x", 0), (1, 1, "b", "x", 1)], [(1, 1, "a", "w", 2)]):
        append_silver(lake, "uno", rows_of(changes), FEED)
        refresh_keyed(spark, FEED, view, ["uno"], context)
    table = DeltaTable(lake / FEED.gold_table(view, "uno").relative).to_pyarrow_table()
    found = table.sort_by([("op", "ascending"), ("value", "ascending")]).to_pylist()
    assert [(row["op"], row["__start_at"], row["__end_at"]) for row in found] == [
        ("a", {"order_0": 1, "order_1": "w"}, {"order_0": 1, "order_1": "x"}),
        ("a", {"order_0": 1, "order_1": "x"}, None),
        ("b", {"order_0": 1, "order_1": "x"}, None),
    ]


def test_a_table_s_expectations_are_judged(spark, context, lake):
    append_silver(lake, "uno", rows_of([(1, 1, "I", "a", 0), (2, 1, "I", None, 1)]), FEED)
    expectation = {"name": "has_value", "sql": "value is not null", "action": "fail"}
    view = GoldView.model_validate(
        {"name": "judged", "keyed": {"by": "id", "order": "version"}, "expectations": [expectation]}
    )
    with pytest.raises(ExpectationFailedError, match="1 of 2 rows"):
        refresh_keyed(spark, FEED, view, ["uno"], context)
    append_silver(lake, "uno", rows_of([(2, 2, "U", "b", 2)]), FEED)
    report = refresh_keyed(spark, FEED, view, ["uno"], context)
    assert report.judged["uno", "has_value"].violated == 0


@pytest.mark.parametrize(
    "route",
    [
        {"routes": [{"column": "game_name", "keys": ["uno"]}, {"column": "op", "keys": ["vip"]}]},
        pytest.param(
            {"route": {"sql": "lower(game_name)", "keys": ["uno", "vip"]}}, marks=pytest.mark.long
        ),
        pytest.param({"route": {"header": "game", "keys": ["uno", "vip"]}}, marks=pytest.mark.long),
        {"route": {"topic": True, "keys": ["uno", "vip"]}},
        {
            "route": {
                "column": "game_name",
                "keys": ["uno", "vip"],
                "aliases": {"Uno": "uno", "VIP": "vip"},
            }
        },
    ],
)
def test_whatever_says_a_rows_key_its_tables_have_their_own_changes(spark, context, lake, route):
    """Where no column holds the keys, what table a row is in tells its key."""
    declared = {**FEED.model_dump(exclude={"route", "keyed", "expectations", "gold"}), **route}
    feed = Feed.model_validate({**declared, "gold": [CURRENT.model_dump()]})

    def bring():
        refresh(spark, feed, feed.view("current_deletes"), feed.keys, context)
        done = refresh_keyed(spark, feed, feed.view("current"), feed.keys, context).refreshed
        found = {}
        for key in feed.keys:
            table = DeltaTable(lake / feed.gold_table(CURRENT, key).relative).to_pyarrow_table()
            names = ("id", "version", "value", "_offset")
            columns = [table[name].to_pylist() for name in names]
            found[key] = sorted(zip(*columns, strict=True))
        return {one.mode for one in done}, found

    changes: dict[str, list[tuple]] = {
        "uno": [(1, 1, "I", "a", 0), (2, 1, "I", "b", 1), (3, 9, "I", "c", 2)],
        "vip": [(1, 1, "I", "d", 3), (2, 1, "I", "e", 4)],
    }
    for key, some in changes.items():
        append_silver(lake, key, rows_of(some, key.title()), feed)
    assert bring() == ({Mode.FULL}, {key: newest_of(some) for key, some in changes.items()})
    more: dict[str, list[tuple]] = {
        "uno": [(None, 5, "T", None, 5), (4, 4, "I", "late", 6)],
        "vip": [(2, 2, "D", None, 7), (3, 1, "I", "f", 8)],
    }
    for key, some in more.items():
        append_silver(lake, key, rows_of(some, key.title()), feed)
        changes[key] = [*changes[key], *some]
    assert bring() == ({Mode.INCREMENTAL}, {key: newest_of(some) for key, some in changes.items()})
