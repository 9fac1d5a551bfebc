import pyarrow as pa
import pytest
from deltalake import write_deltalake
from deltalake.transaction import CommitProperties

from lake_assets.delta.commit import Commit
from lake_assets.delta.log_history import open_table
from lake_assets.logs import gaps, schema_log
from lake_assets.logs.entries import SCHEMAS
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner
from lake_assets.model.tables import EVERY_KEY, GAPS, SCHEMA_LOG, bronze_of, waiting_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams import overview as room
from lake_assets.streams.overview import SourceLag, overview, source_lag
from lake_assets_tests.columns import BRONZE
from lake_assets_tests.gold.silver import stands_for_all
from lake_assets_tests.known_topic import NOWHERE, KnownTopic
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE, silver_of


def names_of(settings, feed=GAMES):
    return [table.table.name for table in overview(settings, feed, None)]


def test_an_empty_lake_has_no_tables(settings):
    assert names_of(settings) == []


def test_a_game_that_the_feed_does_not_declare_is_shown_all_the_same(settings):
    with open_lake(settings) as context:
        context.committer.create({bronze_of("games"): BRONZE})
        chess = silver_of("chess")
        context.committer.create(
            {chess: pa.schema([("gamer_id", pa.string())])},
            owners={chess: Owner(feed="games", key="chess")},
        )
    assert names_of(settings) == ["bronze_games", "silver_chess_events"]


def test_without_a_broker_bronze_has_no_known_lag(settings):
    with open_lake(settings) as context:
        context.committer.create({bronze_of("games"): BRONZE})
    assert [table.lag_rows for table in overview(settings, GAMES, None)] == [None]


def test_a_view_over_all_games_lags_behind_all_their_silver(settings):
    view = GoldView(name="top", sql="select gamer_id from silver_all")
    feed = GAMES.model_copy(update={"gold": (view,)})
    lake, columns = settings.lake_dir, pa.schema([("gamer_id", pa.string())])
    top = feed.gold_table(view, EVERY_KEY)
    with open_lake(settings) as context:
        context.committer.create({bronze_of("games"): BRONZE, top: columns})
        context.committer.create({silver_of(key): columns for key in ("uno", "go_fish")})
        info = stands_for_all(settings, view, uno=0, go_fish=0)
        context.committer.replace([Commit(table=top, files=(), info=info)], columns)
    rows = pa.table({"gamer_id": ["ann", "bob"]})
    counted = CommitProperties(custom_metadata={"rows": "2"})
    for key in ("uno", "go_fish"):
        path = lake / silver_of(key).relative
        write_deltalake(path, rows, mode="append", commit_properties=counted)
    *_, found = overview(settings, feed, None)
    assert (found.table.name, found.key, found.lag_rows) == ("all_games_top", None, 4)


def test_the_log_and_rows_that_wait_are_shown_where_there_are_some(settings):
    with open_lake(settings) as context:
        context.committer.create({bronze_of("games"): BRONZE, waiting_of("games"): BRONZE})
        context.committer.create({**SCHEMAS, GAPS: gaps.SCHEMA, SCHEMA_LOG: schema_log.SCHEMA})
    found = overview(settings, GAMES, None)
    assert [(one.table.relative, one.lag_rows) for one in found] == [
        ("bronze/bronze_games", None),
        ("bronze/bronze_games_waiting", 0),
        ("log/quality_log", 0),
        ("log/stream_log", 0),
        ("log/gaps", 0),
        ("log/schema_log", 0),
    ]


def test_a_feeds_tables_are_found_by_the_names_that_it_gives_them(settings):
    with open_lake(settings) as context:
        for feed, key in ((RENAMED, "uno"), (WITHOUT_ROUTE, "clicks")):
            gold = feed.gold_table(feed.gold[0], key)
            context.committer.create({bronze_of(feed.feed): BRONZE})
            columns = pa.schema([("gamer_id", pa.string())])
            context.committer.create(dict.fromkeys((feed.silver_table(key), gold), columns))
    assert names_of(settings, RENAMED) == ["bronze_renamed", "uno_in_silver", "player_agg_of_uno"]
    assert names_of(settings, WITHOUT_ROUTE) == [
        "bronze_clicks",
        "silver_clicks_events",
        "gold_clicks_player_agg",
    ]


def test_silver_never_seems_to_have_rows_that_bronze_lacks(settings, monkeypatch):
    rows = pa.table({"gamer_id": ["ann"]})
    bronze, silver = bronze_of("games"), silver_of("uno")
    with open_lake(settings) as context:
        context.committer.create({bronze: rows.schema, silver: rows.schema})

    def stream_meanwhile(lake, table):
        found = open_table(lake, table)
        for grown in (bronze, silver):
            write_deltalake(settings.lake_dir / grown.relative, rows, mode="append")
        return found

    monkeypatch.setattr("lake_assets.streams.overview.open_table", stream_meanwhile)
    shown = {table.table: table.rows for table in overview(settings, GAMES, None)}
    assert shown[silver] <= shown[bronze]


@pytest.mark.parametrize(
    ("end", "lag"),
    [
        (10, SourceLag(rows=3)),
        (
            5,
            SourceLag(
                rows=None,
                why="partition 0 of game-stream ends at offset 5, and bronze has its rows up to 7: "
                "it was created again, or is another's",
            ),
        ),
    ],
)
def test_the_lag_behind_a_topic_that_was_made_anew_is_not_known(settings, monkeypatch, end, lag):
    topic = KnownTopic(GAMES.source.kafka, {0: 0}, {0: end})
    monkeypatch.setattr(room, "source_of", lambda *_: topic)
    monkeypatch.setattr(room, "ingested_offsets", lambda *_: {("game-stream", 0): 7})
    assert source_lag(settings, GAMES, NOWHERE) == lag


def test_why_a_source_tells_no_lag_is_said(settings, monkeypatch):
    topic = KnownTopic(GAMES.source.kafka, {}, {})
    monkeypatch.setattr(room, "source_of", lambda *_: topic)
    found = source_lag(settings, GAMES, NOWHERE)
    assert found.rows is None
    assert found.why.endswith("do not exist. Create one")
    assert source_lag(settings, GAMES, None) == SourceLag(rows=None)
