"""Rows of silver in a real PostgreSQL, through the engine of all sinks."""

import pytest
from deltalake import DeltaTable

from lake_assets_tests.databases import running_postgres, sql_sink
from lake_assets_tests.sample import GAMES, silver_of
from lake_assets_tests.sinks.lakes import SHAPE, add_silver, delivered, recorded, redelivered

pytestmark = pytest.mark.spark


def _feed(database, **declared):
    sink = sql_sink(database, select=SHAPE, where="gamer_id <> ''", **declared)
    return GAMES.model_copy(update={"sinks": (sink,)})


def test_rows_arrive_once_and_what_is_refused_goes_again(spark, settings):
    with running_postgres() as databases:
        database = databases()
        database.ask(
            "create table sessions (player text check (player <> 'bob'), game text, "
            "at timestamptz, came_from text unique)"
        )
        feed = _feed(database, origin="came_from", rows_per_call=10)
        add_silver(settings.lake_dir, "uno", "ann", "", "bob", "cid")
        add_silver(settings.lake_dir, "go_fish", "dan", start=10)
        report = delivered(spark, settings, feed)
        assert (report.rows, report.dead_rows) == (3, 1)
        (letter,) = [row for row in recorded(settings, feed) if not row["delivered"]]
        assert letter["offset"] == 2
        assert '"bob"' in letter["request"]
        # Without what is known of deliveries all rows come again, and none is twice there.
        database.ask("alter table sessions drop constraint sessions_player_check")
        report = redelivered(spark, settings, feed)
        assert (report.done.rows, report.done.dead_rows, report.missing_rows) == (1, 0, 0)
        DeltaTable(settings.lake_dir / silver_of("uno").relative).optimize.compact()
        (settings.lake_dir / "log" / "deliveries_games-db").rename(settings.lake_dir / "gone")
        assert delivered(spark, settings, feed).rows == 4
        found = database.ask("select player, game, extract(epoch from at)::int from sessions")
        assert sorted(found) == [
            ("ann", "uno", 0),
            ("bob", "uno", 2),
            ("cid", "uno", 3),
            ("dan", "go_fish", 10),
        ]
        assert delivered(spark, settings, feed).calls == 0


def test_a_late_older_row_changes_nothing(spark, settings):
    with running_postgres() as databases:
        database = databases()
        feed = _feed(database, key=["player"], create_table=True)
        add_silver(settings.lake_dir, "uno", "ann", start=5)
        delivered(spark, settings, feed)
        add_silver(settings.lake_dir, "uno", "ann", start=1)
        assert delivered(spark, settings, feed).rows == 1
        assert database.ask("select player, _lake_offset from sessions") == [("ann", 5)]
