from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import DeltaTable, TableFeatures
from deltalake import Field as DeltaField

from lake_assets.gold.refresh import refresh
from lake_assets.gold.view_heads import small_gain_of, view_heads_of
from lake_assets.model.expectations import Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets_tests.gold.silver import SCHEMA, add_silver, append_silver
from lake_assets_tests.sample import GAMES, gold_of, silver_of

pytestmark = pytest.mark.spark

VIEW = GoldView(name="player_agg", keys=("gamer_id",), measures={"n": "count(*)"})


@pytest.fixture
def silver(lake):
    return lake / silver_of("uno").relative


@pytest.fixture
def bring(spark, context, lake):
    """A game with a view, which gained a row since."""

    def run(view=VIEW):
        add_silver(lake, "uno", "ann", "bob")
        refresh(spark, GAMES, view, ["uno"], context)
        add_silver(lake, "uno", "ann", start=10)

    return run


@pytest.fixture
def small_gains(context):
    def find(view=VIEW, **more):
        ends = view_heads_of(GAMES, view, ["uno"], context)
        return small_gain_of(view, ends.values(), replace(context, **more))

    return find


def test_a_gain_is_told_without_opening_a_table(monkeypatch, bring, small_gains):
    bring()
    monkeypatch.setattr("deltalake.table.RawDeltaTable", None)
    (found,) = small_gains()
    assert (found.plan.rows_read, [file.rows for file in found.plan.gold_files]) == (1, [2])
    assert (found.plan.why, found.aggregates.sources) == (
        "silver gained 1 file since",
        ["gamer_id"],
    )


def test_a_game_that_gained_nothing_needs_nothing(bring, spark, context):
    bring()
    refresh(spark, GAMES, VIEW, ["uno"], context)
    (end,) = view_heads_of(GAMES, VIEW, ["uno"], context).values()
    assert not end.source.is_behind


def add_column(lake, silver):
    DeltaTable(silver).alter.add_columns([DeltaField("extra", "string")])
    add_silver(lake, "uno", "ann", start=20)


def delete(lake, silver):
    DeltaTable(silver).delete("gamer_id = 'bob'")
    add_silver(lake, "uno", "ann", start=20)


def change_gold(lake, _):
    DeltaTable(lake / gold_of("uno", VIEW.name).relative).delete("gamer_id = 'bob'")


def compact(_, silver):
    DeltaTable(silver).optimize.compact()


def drop_gold(lake, _):
    folder = lake / gold_of("uno", VIEW.name).relative
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()


def ask_more_of_writers(lake):
    handle = DeltaTable(lake / gold_of("uno", VIEW.name).relative)
    handle.alter.add_feature(TableFeatures.AppendOnly, allow_protocol_versions_increase=True)


@pytest.mark.parametrize("happens", [add_column, delete, change_gold, compact, drop_gold])
def test_what_ends_do_not_tell_is_left_to_others(bring, small_gains, lake, silver, happens):
    bring()
    assert small_gains()
    happens(lake, silver)
    assert small_gains() == []


def test_a_table_that_asks_more_of_a_writer_is_left_to_deltalake(
    spark, bring, small_gains, context, lake
):
    bring()
    ask_more_of_writers(lake)
    (found,) = refresh(spark, GAMES, VIEW, ["uno"], context).refreshed
    assert found.why == "gold's newest commit is no refresh of this view"
    add_silver(lake, "uno", "bob", start=20)
    assert small_gains() == []
    (found,) = refresh(spark, GAMES, VIEW, ["uno"], context).refreshed
    assert (found.rows_read, found.rows) == (1, 2)


def test_a_view_of_many_rows_is_written_by_buckets(bring, small_gains):
    bring()
    assert small_gains(bucket_rows=2)
    assert small_gains(bucket_rows=0) == []


def test_many_new_rows_are_sparks(monkeypatch, bring, small_gains, lake):
    bring()
    monkeypatch.setattr("lake_assets.gold.view_heads._MOST_ROWS", 1)
    assert small_gains()
    rows = pa.Table.from_pylist([{"game_name": "uno", "gamer_id": "cid"}] * 2, schema=SCHEMA)
    append_silver(lake, "uno", rows)
    assert small_gains() == []


@pytest.mark.parametrize(
    "change",
    [
        {"measures": {"n": "count(distinct gamer_id)"}},
        {"expectations": (Expectation(name="few", sql="n < 9"),)},
    ],
)
def test_a_view_that_arrow_does_not_merge_is_sparks(bring, small_gains, change):
    view = VIEW.model_copy(update=change)
    bring(view)
    assert small_gains(view) == []


def test_a_view_that_is_defined_anew_is_sparks(bring, small_gains):
    bring()
    assert small_gains(VIEW.model_copy(update={"measures": {"m": "count(*)"}})) == []
