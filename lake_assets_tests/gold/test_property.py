"""Whatever happens to silver, a refreshed view equals a full recomputation by another engine."""

import math
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.delta.committer import Committer
from lake_assets.delta.widen import widen
from lake_assets.gold.arrow_merge import merge_in_arrow
from lake_assets.gold.refresh import refresh
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Mode
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import append_silver
from lake_assets_tests.sample import GAMES, gold_of, silver_of

pytestmark = pytest.mark.spark

GAME_NAMES = ("uno", "go_fish")

NARROW = pa.schema(
    [
        ("game_name", pa.string()),
        ("gamer_id", pa.string()),
        ("seq", pa.int64()),
        ("coins", pa.int32()),
        ("speed", pa.float64()),
        ("price", pa.decimal128(9, 2)),
        ("at", pa.timestamp("us", tz="UTC")),
    ]
)
WIDE = NARROW.set(3, pa.field("coins", pa.int64()))

VIEW = GoldView(
    name="all_kinds",
    keys=("gamer_id",),
    measures={
        "n": "count(*)",
        "n_speed": "count(speed)",
        "n_fast": "count_if(speed > 0)",
        "coins_sum": "sum(coins)",
        "coins_some": "sum(coins) filter (where speed > 0)",
        "price_sum": "sum(price)",
        "speed_sum": "sum(speed * 2)",
        "first_at": "min(at)",
        "last_id": "max(concat(gamer_id, '-', coins))",
        "coins_avg": "avg(coins)",
        "price_avg": "mean(price)",
        "first_coins": "min_by(coins, seq)",
        "last_speed": "max_by(speed, seq)",
        "speed_dev": "stddev(speed)",
        "speed_var": "var_pop(speed)",
        "distinct_coins": "approx_count_distinct(coins)",
        "typical": "median(coins)",
        "high": "percentile(speed, 0.9)",
        "whole": "approx_percentile(coins, 0.25)",
    },
)

RECOMPUTED = """
    select gamer_id, count(*) n, count(speed) n_speed, count(*) filter (where speed > 0) n_fast,
        sum(coins)::bigint coins_sum, sum(coins) filter (where speed > 0)::bigint coins_some,
        sum(price) price_sum, sum(speed * 2) speed_sum, min("at") first_at,
        max(gamer_id || '-' || coins) last_id, avg(coins) coins_avg,
        avg(price::double) price_avg, arg_min_null(coins, seq) first_coins,
        arg_max_null(speed, seq) last_speed, stddev_samp(speed) speed_dev, var_pop(speed) speed_var,
        count(distinct coins) distinct_coins, quantile_disc(coins, 0.5) typical,
        quantile_disc(speed, 0.9) high, quantile_disc(coins, 0.25) whole
    from silver group by gamer_id
"""
FLOATS = ("speed_sum", "coins_avg", "price_avg", "speed_dev", "speed_var", "speed_avg")

FOLDED = GoldView(
    name="folded",
    keys={"who": "gamer_id"},
    measures={
        "n": "count(*)",
        "n_speed": "count(speed)",
        "coins_sum": "sum(coins)",
        "speed_sum": "sum(speed)",
        "first_at": "min(at)",
        "most_coins": "max(coins)",
        "coins_avg": "avg(coins)",
        "speed_avg": "avg(speed)",
    },
)
"""What tasks may merge in Arrow, where silver's log tells all that happened."""

FOLDED_RECOMPUTED = """
    select gamer_id who, count(*) n, count(speed) n_speed, sum(coins)::bigint coins_sum,
        sum(speed) speed_sum, min("at") first_at, max(coins) most_coins, avg(coins) coins_avg,
        avg(speed) speed_avg
    from silver group by gamer_id
"""

GAMERS = st.sampled_from(["ann", "bob", "cid", "", None, "dee", "eve"])
ROWS = st.lists(
    st.tuples(
        GAMERS,
        st.none() | st.integers(-1000, 1000),
        st.none() | st.floats(-1e6, 1e6, allow_subnormal=False),
        st.none() | st.decimals(-9999, 9999, places=2),
    ),
    max_size=12,
)
KEY = st.sampled_from(GAME_NAMES)
APPEND = st.tuples(st.just("append"), KEY, ROWS)
HAPPENING = st.one_of(
    *(APPEND,) * 6,
    st.tuples(st.just("compact"), KEY),
    st.tuples(st.just("compact"), KEY),
    *(st.tuples(st.just(what), KEY) for what in ("vacuum", "delete", "rebuild", "drop")),
    st.tuples(st.just("widen")),
)
ROUNDS = st.lists(
    st.tuples(
        st.lists(HAPPENING, min_size=1, max_size=3),
        st.sampled_from([{"uno"}, {"go_fish"}, {*GAME_NAMES}, {*GAME_NAMES}]),
    ),
    min_size=3,
    max_size=5,
)
"""Things that happen, and then a refresh of some games."""


@dataclass
class World:
    """A lake with two games' silver, and what is done to it."""

    lake: Path
    bucket_rows: int
    view: GoldView
    is_streamed: bool
    """Whether silver's rows come through the committer, as they do in the product."""

    schema: pa.Schema = NARROW
    seq: int = 0
    modes: set = field(default_factory=set)

    def __post_init__(self):
        self.open()

    def open(self):
        """The committer keeps handles, as a process does; one that starts has none."""
        committer = Committer(LocalStore.at(self.lake), threads=2)
        self.context = LakeContext(
            committer=committer, buffer_bytes=2**26, bucket_rows=self.bucket_rows
        )

    def path(self, key):
        return self.lake / silver_of(key).relative

    def append(self, key, rows):
        found = []
        for gamer, coins, speed, price in rows:
            self.seq += 1
            found.append(
                {
                    "game_name": key,
                    "gamer_id": gamer,
                    "seq": self.seq,
                    "coins": coins,
                    "speed": speed,
                    "price": price,
                    "at": self.seq * 1_000_000,
                }
            )
        table = pa.Table.from_pylist(found, schema=self.schema)
        if self.is_streamed:
            append_silver(self.lake, key, table)
        else:
            write_deltalake(self.path(key), table, mode="append")

    def compact(self, key):
        DeltaTable(self.path(key)).optimize.compact()

    def vacuum(self, key):
        DeltaTable(self.path(key)).vacuum(
            retention_hours=0, enforce_retention_duration=False, dry_run=False
        )

    def delete(self, key):
        DeltaTable(self.path(key)).delete("gamer_id = 'ann' and coins > 0")

    def rebuild(self, key):
        handle = DeltaTable(self.path(key))
        write_deltalake(self.path(key), handle.to_pyarrow_table().slice(1), mode="overwrite")

    def drop(self, key):
        """Another table of the same version."""
        handle = DeltaTable(self.path(key))
        version, rows = handle.version(), handle.to_pyarrow_table()
        for file in sorted(self.path(key).rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        write_deltalake(self.path(key), rows.slice(0, 1))
        for _ in range(version):
            write_deltalake(self.path(key), rows.slice(0, 0), mode="append")
        self.context.committer.close()
        self.open()

    def widen(self):
        self.schema = WIDE
        widen(self.context.committer, {silver_of(key): WIDE for key in GAME_NAMES})

    def recomputed(self, key):
        silver = DeltaTable(self.path(key)).to_pyarrow_table()
        with duckdb.connect() as db:
            db.execute("set timezone = 'UTC'")
            sql = RECOMPUTED if self.view is VIEW else FOLDED_RECOMPUTED
            return db.from_arrow(silver).query("silver", sql).to_arrow_table().to_pylist()

    def values(self, key, gamer):
        rows = DeltaTable(self.path(key)).to_pyarrow_table().to_pylist()
        return [row for row in rows if row["gamer_id"] == gamer]


def check(world, key):
    (who,) = world.view.key_expressions
    gold = DeltaTable(world.lake / gold_of(key, world.view.name).relative).to_pyarrow_table()
    found = {row[who]: row for row in gold.to_pylist()}
    wanted = {row[who]: row for row in world.recomputed(key)}
    assert len(found) == gold.num_rows
    assert found.keys() == wanted.keys()
    for gamer, expected in wanted.items():
        for name, value in expected.items():
            got = found[gamer][name]
            is_float = name in FLOATS and value is not None and got is not None
            if not is_float:
                assert got == value, (gamer, name)
            else:
                # Decimals' averages have six places; sums that cancel lose what they are made of.
                scale = 1e6 * len(world.values(key, gamer)) ** 2
                slack = 1e-6 if name == "price_avg" else 1e-16 * scale
                assert math.isclose(float(got), value, rel_tol=1e-9, abs_tol=slack), (gamer, name)


def run(spark, world, keys):
    report = refresh(spark, GAMES, world.view, sorted(keys), world.context)
    world.modes |= {one.mode for one in report.refreshed}
    for key in keys:
        check(world, key)
    again = refresh(spark, GAMES, world.view, sorted(keys), world.context)
    assert again.refreshed == ()


@pytest.fixture
def nearby(monkeypatch):
    """Counts the games whose gain tasks merged."""
    merged = []

    def spy(*arguments):
        found = merge_in_arrow(*arguments)
        merged.extend(found)
        return found

    monkeypatch.setattr("lake_assets.gold.refresh.merge_in_arrow", spy)
    return merged


@pytest.mark.parametrize(
    "case",
    [
        (VIEW, False, 1),
        pytest.param((VIEW, True, 1000), marks=pytest.mark.long),
        pytest.param((FOLDED, True, 1), marks=pytest.mark.long),
        pytest.param((FOLDED, True, 1000), marks=pytest.mark.long),
    ],
)
def test_a_view_equals_a_recomputation_whatever_happened(
    spark, tmp_path_factory, few_examples, nearby, case
):
    view, is_streamed, bucket_rows = case
    modes = set()

    @few_examples
    @given(ROUNDS)
    def happens(rounds):
        world = World(tmp_path_factory.mktemp("lake"), bucket_rows, view, is_streamed)
        for key in GAME_NAMES:
            world.append(key, [("ann", 1, 1.5, 2), ("bob", 2, -3.0, None), (None, 7, None, 1)])
        run(spark, world, GAME_NAMES)
        for happenings, keys in [*rounds, ([], GAME_NAMES)]:
            for what, *arguments in happenings:
                getattr(world, what)(*arguments)
            run(spark, world, keys)
        world.context.committer.close()
        modes.update(world.modes)

    happens()
    assert modes == {Mode.FULL, Mode.INCREMENTAL}
    if view is VIEW:
        assert not nearby
    elif bucket_rows == 1000:
        assert nearby
    else:
        # A table of one row for each bucket is split as soon as it has three.
        assert all(sum(file.rows for file in one.plan.gold_files) <= 2 for one in nearby)
