"""Two feeds in one lake, as users run them: what is one's is never the other's."""

import pytest
from deltalake import DeltaTable

from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.delta.table_owners import owner_of
from lake_assets.model.owners import Owner
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.storage.local import LocalStore
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import gold_of, silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

FEED = """
feed: {feed}
{reset}
source: {{kafka: {{topic: {topic}}}}}
payload: {{protobuf: {{subject: {topic}-value}}}}
route: {{column: game_name, keys: [{keys}], unknown: {unknown}}}
gold:
  - {{name: {view}, keys: [gamer_id], measures: {{session_count: count(*)}}}}
"""

CHESS_PLAYER = Owner(feed="kept", key="chess_player", view="agg")


class World:
    """A lake with a feed of declared games, and one that creates them."""

    def __init__(self, connected, services, folder):
        self.settings = connected.model_copy(update={"feeds": folder})
        self.lake = self.settings.lake_dir
        self.kept, self.created = Topic(services), Topic(services)
        texts = {
            "kept": FEED.format(
                feed="kept",
                reset="",
                topic=self.kept.name,
                keys="uno, chess_player",
                unknown="quarantine",
                view="agg",
            ),
            "created": FEED.format(
                feed="created",
                reset="reset: allowed",
                topic=self.created.name,
                keys="",
                unknown="create",
                view="player_agg",
            ),
        }
        for name, text in texts.items():
            (folder / f"{name}.yaml").write_text(text)

    def run(self, *arguments):
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, table):
        handle = open_table(LocalStore.at(self.lake), table)
        return rows_of(handle) if handle else None

    def quarantined(self):
        table = DeltaTable(self.lake / quarantine_of("created").relative).to_pyarrow_table()
        return sorted((row["reason"], row["detail"]) for row in table.to_pylist())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("feeds")


@pytest.fixture
def world(connected, services, folder):
    return World(connected, services, folder)


@pytest.mark.timeout(900)
def test_what_one_feed_has_is_neither_written_nor_dropped_by_another(world):
    known = world.kept.register(0)
    world.kept.produce(framed(known, "uno"), framed(known, "chess_player"))
    known = world.created.register(0)
    keys = ("poker", "poker", "uno", "chess")
    world.created.produce(*(framed(known, key) for key in keys))
    world.run("stream", "--until-caught-up")
    world.run("refresh", "--feed", "kept")

    assert {key: world.rows(silver_of(key)) for key in ("uno", "chess_player", "poker")} == {
        "uno": 1,
        "chess_player": 1,
        "poker": 2,
    }
    assert owner_of(LocalStore.at(world.lake), silver_of("poker")) == Owner(
        feed="created", key="poker"
    )
    assert owner_of(LocalStore.at(world.lake), gold_of("chess_player", "agg")) == CHESS_PLAYER
    assert world.rows(silver_of("chess")) is None
    assert world.quarantined() == [
        (
            "table_taken",
            f"game_name = chess: gold_chess_player_agg is the table of {CHESS_PLAYER}",
        ),
        (
            "table_taken",
            "game_name = uno: silver_uno_events is the table of key 'uno' of feed 'kept'",
        ),
    ]

    world.run("rebuild", "bronze", "--yes", "--feed", "created")
    assert world.rows(bronze_of("kept")) == 2
    assert {key: world.rows(silver_of(key)) for key in ("uno", "chess_player", "poker")} == {
        "uno": 1,
        "chess_player": 1,
        "poker": None,
    }
    assert world.rows(gold_of("uno", "agg")) == 1
    world.run("stream", "--until-caught-up")
    assert (world.rows(silver_of("poker")), len(world.quarantined())) == (2, 2)
