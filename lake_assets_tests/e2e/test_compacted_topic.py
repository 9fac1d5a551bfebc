"""A compacted topic through the streams: its tombstones delete, whatever is derived again."""

import json

import pytest
import yaml
from confluent_kafka import Producer
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.tables import STREAM_LOG, quarantine_of
from lake_assets.settings.schema import KafkaSettings
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]


class Customers:
    """A lake of one topic, whose rows have the customer's id as their key."""

    def __init__(self, settings, services, folder):
        self.topic = Topic(services)
        self.topic.produce()
        folder.mkdir()
        self.file = folder / "customers.yaml"
        kafka = KafkaSettings(bootstrap_servers=services.kafka)
        self.settings = settings.model_copy(update={"feeds": folder, "kafka": kafka})
        self.declare(keyed={"by": "id", "order": "_offset", "tombstones": True})

    def declare(self, **more):
        declared = {
            "feed": "customers",
            "source": {"kafka": {"topic": self.topic.name}},
            "payload": {"json": {"schema": "id bigint, name string", "on_unknown": "ignore"}},
        }
        self.file.write_text(yaml.safe_dump({**declared, **more}))

    def send(self, *rows):
        """Of each an id, and a name, or None to delete it; or a key and a value as they are."""
        producer = Producer(client_config(self.topic.endpoints))
        for key, name in rows:
            raw = key if isinstance(key, bytes) else json.dumps({"id": key}).encode()
            value = None if name is None else json.dumps({"id": key, "name": name})
            producer.produce(self.topic.name, value, key=raw, partition=0)
        assert producer.flush(60) == 0

    def run(self, *commands):
        for command in commands or (("stream", "--until-caught-up"), ("refresh",)):
            done = lake_assets_here(self.settings, *command)
            assert done.returncode == 0, done.stderr

    @property
    def feed(self):
        return find_feed(load_feeds(self.settings.feeds), "customers")

    def rows(self):
        feed = self.feed
        return {
            row["id"]: row["name"]
            for row in self.read(feed.gold_table(feed.view("current"), "customers"))
        }

    def read(self, table):
        return DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()


@pytest.fixture
def customers(settings, services, tmp_path):
    return Customers(settings, services, tmp_path / "feeds")


def test_a_tombstone_deletes_the_row_of_its_key(customers):
    customers.send((1, "ann"), (2, "bob"), (1, "anne"), (2, None), (3, None), (b"who", None))
    customers.run()
    assert customers.rows() == {1: "anne"}
    marks = [
        (row["id"], row["_tombstone"])
        for row in customers.read(customers.feed.silver_table("customers"))
    ]
    assert sorted(id_ for id_, mark in marks if mark) == [2, 3]
    (refused,) = customers.read(quarantine_of("customers"))
    assert (refused["reason"], refused["detail"]) == ("empty_value", "its key does not tell id")
    customers.send((1, None), (2, "rob"), (4, "dee"))
    customers.run()
    assert customers.rows() == {2: "rob", 4: "dee"}
    refreshes = [row for row in customers.read(STREAM_LOG) if row["view"] == "current"]
    assert sorted(row["keys_incremental"] for row in refreshes) == [0, 1]
    for again in (("requeue",), ("rebuild", "silver", "--yes")):
        customers.run(again, ("refresh",))
        assert customers.rows() == {2: "rob", 4: "dee"}
    assert len(customers.read(quarantine_of("customers"))) == 1


def test_tombstones_that_went_to_quarantine_are_taken_by_a_rebuild(customers):
    """A feed that did not say so before; quarantine keeps no keys."""
    customers.declare(keyed={"by": "id", "order": "_offset"})
    customers.send((1, "ann"), (2, "bob"), (1, None))
    customers.run()
    assert customers.rows() == {1: "ann", 2: "bob"}
    customers.declare(keyed={"by": "id", "order": "_offset", "tombstones": True})
    customers.run(("rebuild", "silver", "--yes"), ("refresh",))
    assert customers.rows() == {2: "bob"}
    assert customers.read(quarantine_of("customers")) == []
