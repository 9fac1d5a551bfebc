"""A rebuild beside a live stream, as users run them: two commands in two shells."""

import signal
import subprocess
from time import sleep

import pytest
from deltalake import DeltaTable

from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.settings.load import child_environment
from lake_assets.storage.local import LocalStore
from lake_assets_tests.commandline import COMMAND, lake_assets_here
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

_LOOK_EVERY_S = 0.2

FEED = """
feed: games
{reset}
source: {{kafka: {{topic: {topic}}}}}
payload: {{protobuf: {{subject: {topic}-value}}}}
route: {{column: game_name, keys: [{keys}]}}
gold:
  - {{name: player_agg, keys: [gamer_id], measures: {{session_count: count(*)}}}}
"""


class World:
    """A lake whose feed file may change between commands."""

    def __init__(self, connected, services, folder):
        self.topic = Topic(services)
        self.known = self.topic.register(0)
        self.folder = folder
        self.settings = connected.model_copy(update={"feeds": folder})
        self.sent = 0
        self.declare("uno")

    def declare(self, *keys, reset=""):
        text = FEED.format(topic=self.topic.name, keys=", ".join(keys), reset=reset)
        (self.folder / "games.yaml").write_text(text)

    def produce(self, *keys):
        self.topic.produce(*(framed(self.known, key) for key in keys))
        self.sent += len(keys)

    def run(self, *arguments):
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def origins(self, table):
        handle = DeltaTable(self.settings.lake_dir / table.relative)
        prefix = "" if table == quarantine_of("games") else "_"
        names = [f"{prefix}partition", f"{prefix}offset"]
        rows = handle.to_pyarrow_table(columns=names)
        return [tuple(row.values()) for row in rows.to_pylist()]

    def rows(self, table):
        handle = open_table(LocalStore.at(self.settings.lake_dir), table)
        return rows_of(handle) if handle else 0


@pytest.fixture
def world(connected, services, tmp_path):
    folder = tmp_path / "feeds"
    folder.mkdir()
    return World(connected, services, folder)


@pytest.mark.long
@pytest.mark.timeout(400)
def test_rebuild_and_requeue_beside_a_live_stream_lose_and_double_nothing(world):
    def wait_for(rows):
        while world.rows(silver_of("uno")) + world.rows(quarantine_of("games")) < rows:
            assert live.poll() is None
            sleep(_LOOK_EVERY_S)

    world.produce(*["uno", "chess"] * 50)
    with subprocess.Popen([*COMMAND, "stream"], env=child_environment(world.settings)) as live:  # noqa: S603 - our own command line
        try:
            wait_for(100)
            world.declare("uno", "chess")
            with subprocess.Popen(  # noqa: S603 - our own command line
                [*COMMAND, "rebuild", "silver", "--yes"], env=child_environment(world.settings)
            ) as rebuilding:
                while rebuilding.poll() is None:
                    world.produce("uno")
                    sleep(_LOOK_EVERY_S)
            assert rebuilding.returncode == 0
            assert world.rows(silver_of("chess")) == 50
            # The stream that runs does not know chess yet, and goes on refusing it.
            world.produce("chess", "uno")
            total = world.sent
            while sum(map(world.rows, map(silver_of, ("uno", "chess")))) < total - 1:
                assert live.poll() is None
                sleep(_LOOK_EVERY_S)
        finally:
            live.send_signal(signal.SIGTERM)
    assert world.rows(quarantine_of("games")) == 1
    assert "1 rows in" in world.run("requeue")
    found = [
        *world.origins(silver_of("uno")),
        *world.origins(silver_of("chess")),
        *world.origins(quarantine_of("games")),
    ]
    assert len(found) == len(set(found)) == world.sent
    assert world.origins(quarantine_of("games")) == []


@pytest.mark.timeout(400)
def test_the_commands_from_a_shell(world):
    world.produce("uno", "uno", "chess")
    refused = lake_assets_here(world.settings, "rebuild", "silver", "--yes")
    assert refused.returncode == 1
    assert "has finished no batch" in refused.stderr
    world.run("stream", "--until-caught-up")
    assert "silver_uno_events: 0 rows in" not in world.run(
        "rebuild", "silver", "--yes", "--since", "2020-01-01", "--key", "uno"
    )
    assert "player_agg of uno: 1 rows" in world.run("rebuild", "gold", "--yes")
    protected = lake_assets_here(world.settings, "rebuild", "bronze", "--yes")
    assert protected.returncode == 1
    assert "bronze_games: is protected" in protected.stderr
    assert "reset: allowed" in protected.stderr
    assert world.rows(bronze_of("games")) == 3
    world.declare("uno", "chess", reset="reset: allowed")
    assert "4 tables dropped" in world.run("rebuild", "bronze", "--yes")
    world.run("stream", "--until-caught-up")
    assert (world.rows(silver_of("uno")), world.rows(silver_of("chess"))) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("rebuild", "gold", "--yes", "--since", "2026-01-01"), "--since: does not go with gold"),
        (("rebuild", "bronze", "--yes", "--key", "uno"), "--key: does not go with bronze"),
        (("requeue", "--key", "../x"), "has no key '../x'"),
        (("rebuild", "silver", "--yes", "--key", "nobody"), "has no key 'nobody'"),
    ],
)
def test_what_does_not_go_is_one_line(world, arguments, complaint):
    done = lake_assets_here(world.settings, *arguments)
    code = 2 if complaint.startswith("--") else 1  # an option that does not go with the others
    assert (done.returncode, len(done.stderr.splitlines())) == (code, 1)
    assert complaint in done.stderr
