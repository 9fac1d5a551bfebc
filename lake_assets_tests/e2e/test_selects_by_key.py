"""Keys with selects of their own, streamed by a process that is killed: a rebuild says the same."""

import json
import signal
import subprocess
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from lake_assets.feeds.load import load_feeds
from lake_assets.model.tables import quarantine_of
from lake_assets.settings.load import child_environment
from lake_assets.sources.kafka.topics import client_config, ensure_topic
from lake_assets_tests.commandline import COMMAND, lake_assets_here
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

FEED = """
feed: tables
source: {{kafka: {{topic: {topic}}}}}
payload: {{json: {{schema: "kind string, ante int, mail string", on_unknown: add_columns}}}}
selects:
  poker:
    - "* except (ante)"
    - ante / 100d as stake
    - date_format(timestamp_seconds(ante), 'mm') as m
  chess: [kind, "concat(mail, '!') as loud"]
masks:
  uno: {{mail: redact}}
route: {{sql: lower(kind), keys: [poker, chess, uno]}}
expectations:
  - {{name: stake_is_fair, sql: "stake < {most}", action: quarantine, keys: [poker]}}
gold:
  - {{name: agg, keys: [kind], measures: {{n: count(*), most: max(stake), seats: max(seat)}}}}
  - {{name: stakes, sql: "select count(*) as n, sum(stake) as stakes from silver_all"}}
"""

KEYS = ("poker", "chess", "uno")


class World:
    """A lake of one feed and its topic."""

    def __init__(self, connected, services, folder):
        folder.mkdir()
        self.topic = Topic(services)
        ensure_topic(services, self.topic.name)
        self.settings = connected.model_copy(update={"feeds": folder})
        self.sent = 0
        self.declare(50)

    def declare(self, most):
        text = FEED.format(topic=self.topic.name, most=most)
        (self.settings.feeds / "tables.yaml").write_text(text)
        (self.feed,) = load_feeds(self.settings.feeds)

    def produce(self, *values):
        producer = Producer(client_config(self.topic.endpoints))
        for value in values:
            producer.produce(self.topic.name, json.dumps(value), partition=0)
        assert producer.flush(60) == 0
        self.sent += len(values)

    def run(self, *arguments):
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def streaming(self):
        """A process of its own, which is killed at the end."""
        command, environment = [*COMMAND, "stream"], child_environment(self.settings)
        with subprocess.Popen(command, env=environment) as live:  # noqa: S603 - our own command line
            try:
                yield live
            finally:
                live.send_signal(signal.SIGKILL)

    def read(self, table):
        try:
            rows = DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table()
        except TableNotFoundError:
            return []
        at = "_offset" if "_offset" in rows.schema.names else "offset"
        return sorted(rows.to_pylist(), key=lambda row: row[at])

    def silver(self):
        """By key the rows of its table, without when they came."""
        left_out = ("_kafka_timestamp", "_schema_id")
        return {
            key: [
                {name: value for name, value in row.items() if name not in left_out}
                for row in self.read(self.feed.silver_table(key))
            ]
            for key in KEYS
        }

    def refused(self):
        return self.read(quarantine_of("tables"))

    def taken(self):
        """How many rows are in silver and in quarantine."""
        return sum(map(len, self.silver().values())) + len(self.refused())

    def gold(self, view, key):
        table = self.feed.gold_table(self.feed.view(view), key)
        return DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()


@pytest.fixture
def world(connected, services, tmp_path):
    return World(connected, services, tmp_path / "feeds")


def event(kind, **more):
    return {"kind": kind, "ante": 150, "mail": "ann@x.example", **more}


def columns(rows):
    return {name for row in rows for name in row if not name.startswith("_")}


@pytest.mark.timeout(600)
def test_a_rebuild_says_what_was_streamed_by_a_process_that_was_killed(world):
    stream_and_kill(world)
    world.produce(event("poker", seat=6, hand="full"), event("go"))
    world.run("stream", "--until-caught-up")
    assert world.taken() == world.sent
    streamed = world.silver()
    ensure_selected(streamed)
    assert [row["reason"] for row in world.refused()] == ["expectation", "unknown_key"]
    world.run("refresh")
    ensure_viewed(world, streamed)
    for keys in ([], ["--key", "poker"]):
        world.run("rebuild", "silver", "--yes", *keys)
        assert world.silver() == streamed
    world.declare(100)
    world.run("requeue")
    poker = world.silver().pop("poker")
    assert [row for row in poker if row["stake"] != 90] == streamed["poker"]
    assert len(poker) == len(streamed["poker"]) + 1
    assert [row["reason"] for row in world.refused()] == ["unknown_key"]


def stream_and_kill(world):
    world.produce(event("Poker"), event("chess"), event("UNO"), event("poker", ante=9000))
    with world.streaming() as live:

        def has_taken_all():
            assert live.poll() is None
            return world.taken() == world.sent

        wait_for(has_taken_all, "the first rows", within_s=120)
        # A column that nobody declared comes while the streams run, and then they are killed.
        world.produce(event("poker", seat=3), event("chess", seat=4), event("uno", seat=5))
        wait_for(has_taken_all, "rows with a new column", within_s=120)
        world.produce(*(event(KEYS[n % 3], ante=n, seat=n) for n in range(300)))


def ensure_selected(rows):
    """Each key's rows are what its select makes of them."""
    assert columns(rows["poker"]) == {"kind", "mail", "seat", "hand", "stake", "m"}
    assert columns(rows["chess"]) == {"kind", "loud"}
    assert columns(rows["uno"]) == {"kind", "ante", "mail", "seat", "hand"}
    assert {row["mail"] for row in rows["uno"]} == {"***"}
    assert {row["loud"] for row in rows["chess"]} == {"ann@x.example!"}
    first, *_, last = rows["poker"]
    assert (first["stake"], first["m"], first["seat"]) == (1.5, "02", None)
    assert (last["seat"], last["hand"]) == (6, "full")


def ensure_viewed(world, rows):
    """Views read each key's columns, and null where its table has none."""
    assert sum(row["n"] for row in world.gold("agg", "poker")) == len(rows["poker"])
    assert {row["most"] for row in world.gold("agg", "uno")} == {None}
    (whole,) = world.gold("stakes", "*")
    assert whole["n"] == sum(map(len, rows.values()))
    assert whole["stakes"] == pytest.approx(sum(row["stake"] for row in rows["poker"]))
