"""Routes by header and by message type, from a real topic and registry, by commands in a shell."""

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable

from lake_assets.feeds.load import load_feeds
from lake_assets.model.tables import quarantine_of
from lake_assets.sources.kafka.topics import client_config, ensure_topic
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

FEED = """
feed: play
source: {{kafka: {{topic: {topic}}}}}
payload: {payload}
{route}
gold:
  - {{name: agg, keys: [level], measures: {{n: count(*), first: min(level)}}}}
"""

MESSAGES = """
message Uno { int32 level = 1; }
message Poker { int32 level = 1; string place = 2; }
message Chess { int32 level = 1; }
"""


class World:
    """A lake whose feed file may change between commands."""

    def __init__(self, connected, services, folder):
        folder.mkdir()
        self.topic = Topic(services)
        ensure_topic(services, self.topic.name)
        self.settings = connected.model_copy(update={"feeds": folder})

    def declare(self, route, payload='{json: {schema: "level int"}}'):
        text = FEED.format(topic=self.topic.name, payload=payload, route=route)
        (self.settings.feeds / "play.yaml").write_text(text)
        (self.feed,) = load_feeds(self.settings.feeds)

    def produce(self, *rows):
        """Values, each with its headers, all to one partition."""
        producer = Producer(client_config(self.topic.endpoints))
        for value, headers in rows:
            producer.produce(self.topic.name, value, headers=headers, partition=0)
        assert producer.flush(60) == 0

    def run(self, *arguments):
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read(self, table):
        return DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()

    def offsets(self, *keys):
        tables = {key: self.read(self.feed.silver_table(key)) for key in keys}
        return {key: sorted(row["_offset"] for row in rows) for key, rows in tables.items()}

    def refused(self):
        rows = self.read(quarantine_of("play"))
        return sorted((row["offset"], row["reason"], row["detail"]) for row in rows)

    def gold(self, key):
        rows = self.read(self.feed.gold_table(self.feed.gold[0], key))
        return sorted((row["level"], row["n"]) for row in rows)


@pytest.fixture
def world(connected, services, tmp_path):
    return World(connected, services, tmp_path / "feeds")


def event(level, *kinds):
    return b'{"level": %d}' % level, [("event-type", kind) for kind in kinds]


BY_HEADER = "{{header: event-type, keys: [{keys}], aliases: {{Uno: uno}}}}"
"""With the keys to be filled in."""


@pytest.mark.timeout(600)
def test_rows_by_header_are_streamed_requeued_rebuilt_and_traced_alike(world):
    world.declare(f"route: {BY_HEADER.format(keys='uno, poker')}")
    world.produce(event(1, b"Uno"), event(2, b"uno", b"poker"), event(3), event(4, b"chess"))
    world.run("stream", "--until-caught-up")
    world.produce(event(1, b"uno"), event(6, b"\xff"), (None, [("event-type", b"chess")]))
    world.run("stream", "--until-caught-up")
    assert world.offsets("uno", "poker") == {"uno": [0, 4], "poker": [1]}
    refused = [
        (2, "bad_key_name", "no header event-type"),
        (3, "unknown_key", "header event-type = chess"),
        (5, "bad_key_name", "header event-type = \ufffd"),
        (6, "empty_value", None),
    ]
    assert world.refused() == refused
    world.run("refresh")
    assert world.gold("uno") == [(1, 2)]
    several = BY_HEADER.format(keys="uno, poker, chess")
    world.declare(f"routes: [{several}, {{sql: \"if(level > 3, 'high', null)\", keys: [high]}}]")
    world.run("requeue")
    # One that names no known key is held back, whatever the other route says.
    assert world.offsets("chess", "high") == {"chess": [3], "high": [3]}
    assert world.refused() == [refused[0], *refused[2:]]
    assert "uno" in world.run("trace", f"{world.topic.name}/0/4")
    told = world.run("trace", f"{world.topic.name}/0/3")
    assert "as an event of chess and of high" in " ".join(told.split())
    before = world.offsets("uno", "poker", "chess", "high")
    world.run("rebuild", "silver", "--yes")
    assert world.offsets("uno", "poker", "chess", "high") == before
    assert [offset for offset, _, _ in world.refused()] == [2, 5, 6]
    world.run("refresh")
    assert world.gold("high") == [(4, 1)]


@pytest.mark.timeout(600)
def test_rows_go_where_the_type_of_their_message_says(world):
    schema_id = world.topic.register_text(MESSAGES)
    world.declare(
        "route: {message: true, keys: [uno, poker], aliases: {Uno: uno, Poker: poker}}",
        f"{{protobuf: {{subject: {world.topic.subject}}}}}",
    )
    uno = framed(schema_id, message_of(MESSAGES, "Uno", level=1))
    poker = framed(schema_id, message_of(MESSAGES, "Poker", level=2, place="t"), b"\2\2")
    chess = framed(schema_id, message_of(MESSAGES, "Chess", level=3), b"\2\4")
    world.produce((uno, None), (poker, None), (chess, None), (uno, None))
    world.run("stream", "--until-caught-up")
    assert world.offsets("uno", "poker") == {"uno": [0, 3], "poker": [1]}
    assert world.refused() == [(2, "bad_key_name", "message type = Chess")]
