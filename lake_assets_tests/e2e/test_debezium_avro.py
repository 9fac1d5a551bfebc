"""Debezium's envelope in Avro, of docs/keyed-tables.md: a real topic and registry."""

import json

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.tables import quarantine_of
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.e2e.page_example import run_example
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.avro.given import datum, framed, record

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]


def test_the_delete_deletes_and_its_tombstone_is_told_of(connected, services, tmp_path):
    folder = tmp_path / "feeds"
    settings, silver = run_example(
        "keyed-tables.md", "accounts", Topic(services), connected, folder
    )
    assert silver["accounts"].num_rows == 6
    done = lake_assets_here(settings, "refresh")
    assert done.returncode == 0, done.stderr
    feed = find_feed(load_feeds(folder), "accounts")

    def read(table):
        return DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()

    rows = read(feed.gold_table(feed.view("current"), "accounts"))
    found = sorted((row["id"], row["name"], row["lsn"]) for row in rows)
    assert found == [(1, "anne", 140), (3, None, 160)]
    assert "op" not in rows[0]
    (tombstone,) = read(quarantine_of("accounts"))
    assert tombstone["reason"] == "empty_value"


VALUE = record(("id", "long"), ("name", "string"), name="Row")
KEY = record(("id", "long"), name="Key")
OTHER = record(("id", "long"), name="Other")


class Rows:
    """A compacted topic of Avro, key and value, and its lake."""

    def __init__(self, settings, services, folder):
        self.topic = Topic(services)
        self.topic.produce()
        folder.mkdir()
        declared = {
            "feed": "rows",
            "source": {"kafka": {"topic": self.topic.name}},
            "payload": {"avro": {"subject": self.topic.subject}},
            "keyed": {"by": "id", "order": "_offset", "tombstones": True},
        }
        (folder / "rows.yaml").write_text(yaml.safe_dump(declared))
        self.settings = settings.model_copy(update={"feeds": folder})
        (self.feed,) = load_feeds(folder)
        self.of_value = self.register(VALUE, "value")

    def register(self, schema, end):
        subject = f"{self.topic.name}-{end}"
        text = json.dumps({**schema, "doc": subject})
        with registry_client(self.topic.endpoints.registry, RegistryAccess()) as client:
            return client.register_schema(subject, Schema(text, "AVRO"))

    def send(self, *rows):
        """Of each the schema of its key, its id, and a name, or None to delete it."""
        producer = Producer(client_config(self.topic.endpoints))
        for of_key, id_, name in rows:
            value = name and framed(self.of_value, datum(VALUE, {"id": id_, "name": name}))
            key = framed(of_key, datum(KEY, {"id": id_}))
            producer.produce(self.topic.name, value, key=key, partition=0)
        assert producer.flush(60) == 0

    def run(self, *command):
        for one in (command, ("refresh",)):
            done = lake_assets_here(self.settings, *one)
            assert done.returncode == 0, done.stderr

    def read(self, table):
        return DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()

    def names(self):
        rows = self.read(self.feed.gold_table(self.feed.view("current"), "rows"))
        return {row["id"]: row["name"] for row in rows}


def test_rows_of_avro_are_deleted_by_their_keys(connected, services, tmp_path):
    rows = Rows(connected, services, tmp_path / "feeds")
    key, other = rows.register(KEY, "key"), rows.register(OTHER, "other")
    rows.send((key, 1, "ann"), (key, 2, "bob"), (key, 2, None), (other, 1, None))
    rows.run("stream", "--until-caught-up")
    assert rows.names() == {1: "ann"}
    (refused,) = rows.read(quarantine_of("rows"))
    fact = f"schema id {other} is not of subject {rows.topic.name}-key"
    assert refused["reason"] == "empty_value"
    assert refused["detail"] == f"its key does not tell id: {fact}"
    rows.send((key, 1, None), (key, 2, "rob"))
    rows.run("stream", "--until-caught-up")
    assert rows.names() == {2: "rob"}
    rows.run("rebuild", "silver", "--yes")
    assert rows.names() == {2: "rob"}
