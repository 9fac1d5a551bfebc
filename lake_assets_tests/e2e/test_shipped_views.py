"""The gold views that ship, over what the simulator plays, beside another engine."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.gold.refresh import refresh
from lake_assets.gold.sql_views import refresh_sql_views
from lake_assets.gold.window_refresh import refresh_windows
from lake_assets.model.tables import EVERY_KEY
from lake_assets.simulator.games.population import populate
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.gold.silver import SCHEMA
from lake_assets_tests.sample import silver_of

pytestmark = pytest.mark.spark

GAMES = ("rummy", "poker")
EVENTS, SPACING_US = 20_000, 60_000_000
"""An event a minute, for two weeks."""

WORLD = populate(GAMES, seed=7)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Silver of two games, twice with half an hour between."""
    lake = tmp_path_factory.mktemp("lake")
    for start in (0, EVENTS * SPACING_US + 1_800_000_000):
        draws = WORLD.draw(np.random.default_rng(start), EVENTS // 2, 1, first=0)
        at = start + (np.arange(len(draws.jitter)) + draws.jitter) * SPACING_US
        rows = pa.table(
            {
                "game_name": [GAMES[key] for key in draws.game],
                "gamer_id": [WORLD.players[player].gamer_id for player in draws.player],
                "event_timestamp": pa.array(at.astype("int64"), pa.timestamp("us", tz="UTC")),
            },
            schema=pa.schema([SCHEMA.field(n) for n in SCHEMA.names[:3]]),
        )
        for number, key in enumerate(GAMES):
            mine = rows.filter(pa.array(draws.game == number))
            write_deltalake(lake / silver_of(key).relative, mine, mode="append")
    return lake


@pytest.fixture
def bring(spark, settings, lake):
    """A shipped view, refreshed; answers DuckDB queries over `gold` and `silver` of a game."""
    feed = find_feed(load_feeds(None), "games")
    here = settings.model_copy(update={"lake": lake})

    def run(name, scope, query):
        (view,) = (view for view in feed.gold if view.name == name)
        how = refresh_sql_views if view.sql else refresh_windows if view.windows else refresh
        with open_lake(here) as context:
            how(spark, feed, view, GAMES, context, full_refresh=True)
        tables = {"gold": feed.gold_table(view, scope)}
        tables |= {key: silver_of(key) for key in GAMES}
        with duckdb.connect() as db:
            for called, table in tables.items():
                db.register(called, DeltaTable(here.lake_dir / table.relative).to_pyarrow_table())
            db.execute("set timezone = 'UTC'")
            return db.execute(query).fetchall()

    return run


def test_each_day_has_its_events_and_about_its_players(bring):
    differences = bring(
        "daily_activity",
        "rummy",
        """
        with exact as (
            select event_timestamp::date as day, count(*) as n, count(distinct gamer_id) as players
            from rummy group by all
        )
        select day, gold.events - n, abs(gold.players - exact.players) / exact.players
        from exact full join gold using (day)
        """,
    )
    assert len(differences) > 13
    assert all(off == 0 and share < 0.15 for _, off, share in differences)


def test_each_minute_that_is_over_has_its_events_and_its_very_players(bring):
    query = """
        with bounds as (select max(event_timestamp) - interval 10 second as watermark from rummy),
        exact as (
            select date_trunc('minute', event_timestamp) as minute, count(*) as events,
                   count(distinct gamer_id) as players
            from rummy group by all
        )
        select minute, minute + interval 1 minute, events, players from exact, bounds
        where minute + interval 1 minute <= watermark order by 1
    """
    ours = "select window_start, window_end, events, players from gold order by 1"
    theirs = bring("activity_by_minute", "rummy", query)
    assert len(theirs) > 1000
    assert bring("activity_by_minute", "rummy", ours) == theirs


def test_the_leaders_are_those_of_the_last_week_of_events(bring):
    query = """
        select row_number() over (order by count(*) desc, gamer_id) as place, gamer_id, count(*)
        from poker
        where event_timestamp > (select max(event_timestamp) from poker) - interval 7 day
        group by gamer_id order by place limit 100
    """
    theirs = bring("leaderboard", "poker", query)
    ours = bring("leaderboard", "poker", "select place, gamer_id, sessions from gold order by 1")
    assert len(ours) == 100
    assert ours == theirs


def test_programs_are_suspected_and_nobody_else(bring):
    found = bring("suspicious_players", EVERY_KEY, "select gamer_id, median_pause_s from gold")
    assert {gamer for gamer, _ in found} == {bot.gamer_id for bot in WORLD.bots}
    assert {pause for _, pause in found} == {200 * SPACING_US / 1e6}
