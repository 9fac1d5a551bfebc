"""Whatever happens to what views read, they equal a full recomputation by another engine.

Views of one feed and of another that read each other's, some incremental, over keys and over all.
"""

import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.backup.table_restore import table_restore
from lake_assets.delta.committer import Committer
from lake_assets.errors import LakeError
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.gold.run import Warm, refresh_views
from lake_assets.model.owners import Owner
from lake_assets.model.tables import EVERY_KEY
from lake_assets.model.view_order import turns_of
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import SCHEMA, add_silver

pytestmark = pytest.mark.spark

KEYS = {"games": ("uno", "go_fish"), "clicks": ("web",)}

GAMES = """feed: games
source: {{kafka: {{topic: games}}}}
payload: {{json: {{schema: "game_name string, gamer_id string"}}}}
route: {{column: game_name, keys: [uno, go_fish]}}
gold:
  - {{name: share, sql: "select o.gamer_id, o.n, t.n as of_all from gold.often o
      cross join (select sum(n) as n from gold_all.total) t"}}
  - {{name: total, sql: "select game_name, sum(n) as n from gold_all.often group by game_name"}}
  - {{name: often, sql: "select gamer_id, n from gold.agg where n > {least}"}}
  - {{name: mixed, sql: "select s.gamer_id, count(*) as events, max(a.n) as n from silver s
      left join gold.agg a on a.gamer_id <=> s.gamer_id group by s.gamer_id"}}
  - {{name: agg, keys: [gamer_id], measures: {{n: count(*), last: max(_offset)}}}}
  - {{name: beside, sql: "select c.gamer_id, c.n from clicks.gold.ranks c
      join gold_all.total t on t.game_name = 'uno'"}}
"""

CLICKS = """feed: clicks
source: {kafka: {topic: clicks}}
payload: {json: {schema: "game_name string, gamer_id string"}}
route: {column: game_name, keys: [web]}
tables: {silver: "clicks_of_{key}", gold: "{view}_of_{key}_clicks"}
gold:
  - {name: ranks, sql: "select gamer_id, sum(n) as n from games.gold.agg group by gamer_id"}
  - {name: events, sql: "select g.game_name, count(*) as n from games.silver g
      join (select distinct gamer_id from silver_all) w on w.gamer_id = g.gamer_id
      group by g.game_name"}
"""

AGG = """create temp view aggs as
    select game_name, gamer_id, count(*) as n, max(_offset) as last from games group by all"""
RECOMPUTED = {
    "agg": "select gamer_id, n, last from aggs where game_name = $key",
    "often": "select gamer_id, n from aggs where game_name = $key and n > $least",
    "mixed": "select gamer_id, n as events, n from aggs where game_name = $key",
    "total": "select game_name, sum(n)::bigint as n from aggs where n > $least group by 1",
    "share": """select gamer_id, n, (select sum(n)::bigint from aggs where n > $least) as of_all
        from aggs where game_name = $key and n > $least""",
    "ranks": "select gamer_id, sum(n)::bigint as n from aggs group by 1",
    "events": """select game_name, count(*) as n from games
        where gamer_id in (select gamer_id from clicks) group by 1""",
    "beside": """select gamer_id, sum(n)::bigint as n from aggs
        where exists (from aggs where game_name = 'uno' and n > $least) group by 1""",
}


@dataclass
class World:
    """A lake with silver of two feeds, and what happens to it."""

    settings: Settings
    spark: object
    least: int = 1
    offset: int = 0
    happened: set = field(default_factory=set)

    def __post_init__(self):
        self.feeds_dir.mkdir(parents=True)
        (self.feeds_dir / "clicks.yaml").write_text(CLICKS)
        self.declare()
        committer = Committer(LocalStore.at(self.settings.lake_dir), threads=1)
        for feed in self.feeds:
            for key in KEYS[feed.feed]:
                table, owner = feed.silver_table(key), Owner(feed=feed.feed, key=key)
                committer.create({table: SCHEMA}, owners={table: owner})
                self.append(feed.feed, key, ["ann", "ann", "bob"])
        committer.close()

    @property
    def feeds_dir(self):
        return Path(self.settings.feeds)

    def declare(self):
        (self.feeds_dir / "games.yaml").write_text(GAMES.format(least=self.least))
        self.feeds = load_feeds(self.settings.feeds)

    def feed(self, name):
        return find_feed(self.feeds, name)

    def scopes(self):
        """Feed, view and scope of each gold table."""
        return [
            (feed, view, scope)
            for feed in self.feeds
            for view in feed.gold
            for scope in view.scopes(KEYS[feed.feed])
        ]

    def gold(self, number):
        feed, view, scope = self.scopes()[number % len(self.scopes())]
        return feed.gold_table(view, scope)

    def silver(self, number):
        tables = [feed.silver_table(key) for feed in self.feeds for key in KEYS[feed.feed]]
        return tables[number % len(tables)]

    def path(self, table):
        return self.settings.lake_dir / table.relative

    def append(self, name, key, gamers):
        add_silver(self.settings.lake_dir, key, *gamers, start=self.offset, feed=self.feed(name))
        self.offset += 100

    def append_to_games(self, number, gamers):
        self.append("games", KEYS["games"][number % 2], gamers)

    def append_to_clicks(self, _, gamers):
        self.append("clicks", "web", gamers)

    def put_back(self, number, table):
        """By the command, to any version that it takes."""
        with (
            suppress(LakeError),
            table_restore(self.settings, table, number % (self.version(table) + 1)) as (plan, do),
        ):
            do() if not plan.is_idle else None
            self.happened.add(f"put back {table.layer}")

    def put_back_silver(self, number, _):
        self.put_back(number // 7, self.silver(number))

    def put_back_gold(self, number, _):
        if self.path(table := self.gold(number)).exists():
            self.put_back(number // 7, table)

    def restore_by_another_engine(self, number, _):
        table = self.silver(number) if number % 2 else self.gold(number // 2)
        if self.path(table).exists() and (newest := self.version(table)):
            DeltaTable(self.path(table)).restore(number // 7 % newest)
            self.happened.add("restored")

    def compact(self, number, _):
        if self.path(table := self.gold(number)).exists():
            DeltaTable(self.path(table)).optimize.compact()

    def drop(self, number, _):
        if self.path(table := self.gold(number)).exists():
            shutil.rmtree(self.path(table))
            self.happened.add("dropped")

    def redefine(self, number, _):
        self.least = 1 + number % 3
        self.declare()

    def version(self, table):
        return DeltaTable(self.path(table)).version()

    def refresh(self, *, name=None, views=None, full_refresh=False):
        """Of all feeds as the command does, or of some views; how many tables were computed."""
        with open_lake(self.settings, self.spark) as context:
            warm = Warm(session=self.spark, context=context, keep=lambda _: None)
            # Of each feed's last turn; what waits in one before may be there by then.
            computed, held = 0, {}
            for feed in turns_of(self.feeds):
                if name not in {None, feed.feed}:
                    continue
                reports = refresh_views(
                    self.settings, feed, views=views, full_refresh=full_refresh, warm=warm
                )
                computed += sum(len(report.refreshed) for report in reports)
                held[feed.feed] = [why for each in reports for why in each.blocked.values()]
        return computed, [why for each in held.values() for why in each]

    def refresh_one(self, number, _):
        """Alone: what it reads is as it is, and may be behind or gone."""
        feed, view, _ = self.scopes()[number % len(self.scopes())]
        self.refresh(name=feed.feed, views=[view.name])

    def rebuild_one(self, number, _):
        feed, view, _ = self.scopes()[number % len(self.scopes())]
        self.refresh(name=feed.feed, views=[view.name], full_refresh=True)

    def recomputed(self, view, scope):
        with duckdb.connect() as db:
            for feed in self.feeds:
                tables = [
                    DeltaTable(self.path(feed.silver_table(key))).to_pyarrow_table()
                    for key in KEYS[feed.feed]
                ]
                db.register(feed.feed, pa.concat_tables(tables).select(SCHEMA.names))
            db.execute(AGG)
            sql = RECOMPUTED[view.name]
            given = {"key": scope, "least": self.least}
            found = db.execute(sql, {n: v for n, v in given.items() if f"${n}" in sql})
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def check(self):
        for feed, view, scope in self.scopes():
            rows = DeltaTable(self.path(feed.gold_table(view, scope))).to_pyarrow_table()
            found, wanted = rows.to_pylist(), self.recomputed(view, scope)
            about = (view.name, scope)
            assert sorted(found, key=str) == sorted(wanted, key=str), about


GAMERS = st.lists(st.sampled_from(["ann", "bob", "cid", None]), min_size=1, max_size=4)
HAPPENINGS = (
    *("append_to_games", "append_to_games", "append_to_clicks"),
    *("put_back_silver", "put_back_gold", "put_back_gold", "restore_by_another_engine"),
    *("compact", "drop", "redefine", "refresh_one", "rebuild_one"),
)
HAPPENING = st.tuples(st.sampled_from(HAPPENINGS), st.integers(0, 1000), GAMERS)
ROUNDS = st.lists(st.lists(HAPPENING, min_size=1, max_size=4), min_size=3, max_size=4)


def test_views_of_views_equal_a_recomputation_whatever_happened(
    settings, spark, tmp_path_factory, few_examples
):
    happened = set()

    @few_examples
    @given(ROUNDS)
    def happens(rounds):
        home = tmp_path_factory.mktemp("home")
        own = settings.model_copy(update={"home": home, "feeds": home / "feeds"})
        world = World(own, spark)
        for happenings in [[], *rounds]:
            for what, number, gamers in happenings:
                getattr(world, what)(number, gamers)
            _, held = world.refresh()
            assert held == [], happenings
            world.check()
            assert world.refresh() == (0, [])
        happened.update(world.happened)

    happens()
    # Silver, too, was put back where five are drawn.
    assert happened >= {"put back gold", "restored", "dropped"}


@pytest.fixture
def world(settings, spark, tmp_path):
    return World(settings.model_copy(update={"feeds": tmp_path / "feeds"}), spark)


def changed(world, *pairs):
    file = world.feeds_dir / "games.yaml"
    text = file.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    world.feeds = load_feeds(world.settings.feeds)


def rows_of(world, view, scope=EVERY_KEY):
    feed = world.feed("games")
    table = world.path(feed.gold_table(feed.view(view), scope))
    return sorted(DeltaTable(table).to_pyarrow_table().to_pylist(), key=str)


def test_a_view_that_becomes_one_over_all_keys_is_read_as_that_and_back(world):
    world.refresh()
    before = rows_of(world, "total")
    of_each = "select gamer_id, n from gold.agg where n > 1"
    of_all = "select game_name, gamer_id, n * 10 as n from gold_all.agg where n > 1"
    changed(world, (of_each, of_all), ("gold.often o", "gold_all.often o"))
    world.refresh()
    assert rows_of(world, "total") == [{**row, "n": row["n"] * 10} for row in before]
    world.declare()
    world.refresh()
    world.check()
    assert world.refresh() == (0, [])


def test_a_view_that_is_renamed_with_its_readers_is_read_under_its_new_name(world):
    world.refresh()
    changed(world, ("name: often", "name: frequent"), (".often", ".frequent"))
    world.append("games", "uno", ["cid", "cid"])
    world.refresh()
    uno = [row["n"] for row in rows_of(world, "total") if row["game_name"] == "uno"]
    assert uno == [4]
    assert world.refresh() == (0, [])


@pytest.mark.long
def test_a_key_that_is_declared_no_more_leaves_what_reads_all(world):
    world.refresh()
    changed(world, ("keys: [uno, go_fish]", "keys: [uno]"))
    world.refresh()
    assert {row["game_name"] for row in rows_of(world, "total")} == {"uno"}
    world.declare()
    world.refresh()
    world.check()
