import pytest
from deltalake import DeltaTable

from lake_assets.gold.keyed_refresh import refresh_keyed
from lake_assets.gold.refresh import refresh
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Mode
from lake_assets_tests.gold.changes import (
    ALL,
    NEWEST,
    feed_of,
    history_of,
    newest_of,
    rows_of,
)
from lake_assets_tests.gold.silver import append_silver

pytestmark = pytest.mark.spark

CURRENT = GoldView(name="current", keyed=NEWEST)
HISTORY = GoldView(name="history", keyed=ALL)
FEED = feed_of(CURRENT, HISTORY)


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
