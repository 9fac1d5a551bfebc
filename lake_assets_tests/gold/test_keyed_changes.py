"""In whatever order and batches changes come, and however often, a keyed table is the same."""

from itertools import permutations

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.delta.committer import Committer
from lake_assets.gold.keyed_refresh import refresh_keyed
from lake_assets.gold.refresh import refresh
from lake_assets.model.reports import Mode
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.changes import (
    CURRENT,
    FEED,
    HISTORY,
    history_of,
    newest_of,
    rows_of,
)
from lake_assets_tests.gold.silver import append_silver
from lake_assets_tests.long_parameters import with_long

pytestmark = pytest.mark.spark


CHANGE = st.tuples(
    st.sampled_from([1, 2, 3, 4, None]),
    st.none() | st.integers(0, 6),
    st.sampled_from(["I", "U", "U", "U", "D", "D", None]),
    st.sampled_from(["a", "b", None]),
)
TRUNCATE = st.tuples(st.none(), st.integers(0, 6), st.just("T"), st.none())
BATCH = st.lists(st.one_of(*(CHANGE,) * 9, TRUNCATE), max_size=6)
ROUND = st.tuples(
    BATCH,
    st.sampled_from(["", "", "again", "compact", "late", "full"]),
    st.booleans(),
)
"""New changes; what happens beside; and whether the view of deletes keeps up."""


class World:
    """A lake with one key, and its two keyed tables."""

    def __init__(self, lake, bucket_rows):
        self.lake = lake
        committer = Committer(LocalStore.at(lake), threads=1)
        self.context = LakeContext(committer=committer, buffer_bytes=2**26, bucket_rows=bucket_rows)
        self.changes, self.modes = [], set()

    def append(self, changes):
        append_silver(self.lake, "uno", rows_of(changes), FEED)
        self.changes += changes

    def compact(self):
        DeltaTable(self.lake / FEED.silver_table("uno").relative).optimize.compact()

    def refresh(self, spark, *, deletes, full=False):
        for view in (CURRENT, HISTORY):
            if deletes:
                refresh(spark, FEED, FEED.view(f"{view.name}_deletes"), ["uno"], self.context)
            done = refresh_keyed(spark, FEED, view, ["uno"], self.context, full_refresh=full)
            self.modes |= {one.mode for one in done.refreshed}

    def rows(self, view, *names):
        table = DeltaTable(self.lake / FEED.gold_table(view, "uno").relative).to_pyarrow_table()
        columns = [table[name].to_pylist() for name in (*names, "value", "_offset")]
        return sorted(zip(*columns, strict=True), key=lambda row: row[:2])

    def check(self):
        assert self.rows(CURRENT, "id", "version") == newest_of(self.changes)
        of_history = [c for c in self.changes if c[2] != "T"]
        # To the history, which has no truncates, such a change is one without a row.
        assert self.rows(HISTORY, "id", "__start_at", "__end_at") == history_of(of_history)


@pytest.mark.parametrize("bucket_rows", with_long([1, 1000], long=[1000]))
def test_a_keyed_table_is_what_all_changes_come_to(
    spark, tmp_path_factory, bucket_rows, few_examples
):
    modes = set()

    @few_examples
    @given(st.lists(ROUND, min_size=3, max_size=5))
    def happens(rounds):
        world = World(tmp_path_factory.mktemp("lake"), bucket_rows)
        world.append([(1, 1, "I", "a", 0), (2, 1, "I", "b", 1), (3, 3, "I", "c", 2)])
        world.refresh(spark, deletes=True)
        offset = 10
        for batch, happening, deletes in rounds:
            changes = [(*change, offset + at) for at, change in enumerate(batch)]
            offset += len(changes)
            if happening == "again":
                changes += [(*change, offset + at) for at, change in enumerate(batch)]
                offset += len(batch)
            if happening == "late":
                world.append(changes[1::2])
                changes = changes[::2]
            world.append(changes)
            if happening == "compact":
                world.compact()
            world.refresh(spark, deletes=deletes, full=happening == "full")
            world.check()
        world.context.committer.close()
        modes.update(world.modes)

    happens()
    assert modes == {Mode.FULL, Mode.INCREMENTAL}


@pytest.mark.long
def test_no_order_of_arrival_makes_a_difference(spark, tmp_path):
    """All orders of five changes, each order in a row of its own, a change a refresh."""
    five = [(1, "I", "a"), (2, "D", None), (3, "U", "b"), (3, "U", "c"), (4, "D", None)]
    orders = list(permutations(range(5)))
    world = World(tmp_path, 16)
    for place in range(5):
        world.append(
            [
                (row, version, op, value, 1000 * which + row)
                for row, order in enumerate(orders)
                for which in [order[place]]
                for version, op, value in [five[which]]
            ]
        )
        world.refresh(spark, deletes=place % 2 == 0)
        world.check()
    assert world.rows(CURRENT, "id", "version") == []
    assert len(world.rows(HISTORY, "id", "__start_at")) == 2 * len(orders)
