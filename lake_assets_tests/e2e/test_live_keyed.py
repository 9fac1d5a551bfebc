"""A live keyed table of running streams, which are killed in between: what all changes come to."""

import json
import os
import random
import signal
import subprocess
from contextlib import contextmanager

import pytest
import yaml
from confluent_kafka import Producer
from deltalake import DeltaTable
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from lake_assets.feeds.load import load_feeds
from lake_assets.model.tables import quarantine_of
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import KafkaSettings
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.commandline import COMMAND
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

SHOPS = ("nord", "south")
WAIT_S = 150


class Changes:
    """A topic of changes of rows, and the lake that takes them."""

    def __init__(self, settings, services, folder):
        self.topic = Topic(services)
        self.topic.produce()
        folder.mkdir()
        declared = {
            "feed": "customers",
            "source": {"kafka": {"topic": self.topic.name}},
            "payload": {
                "json": {"schema": "shop string, id bigint, version bigint, op string, name string"}
            },
            "route": {"column": "shop", "keys": list(SHOPS)},
            "keyed": {"by": "id", "order": "version", "deletes": "op = 'D'"},
        }
        (folder / "customers.yaml").write_text(yaml.safe_dump(declared))
        kafka = KafkaSettings(bootstrap_servers=services.kafka)
        self.settings = settings.model_copy(update={"feeds": folder, "kafka": kafka})
        (self.feed,) = load_feeds(folder)
        self.log = folder.parent / "streams.log"
        self.sent = []
        self.nameless = 0
        self._chance = random.Random(5)  # noqa: S311 - no secret
        self._rest = [
            {"shop": shop, "id": self._chance.randrange(80), "version": version, "op": op}
            for shop in SHOPS
            for version in range(600)
            for op in self._chance.choices("UD", (4, 1))
        ]
        self._chance.shuffle(self._rest)

    def send(self, count):
        """Changes out of their order, and some that were sent before; one that names no row."""
        taken, self._rest = self._rest[:count], self._rest[count:]
        again = self._chance.sample(self.sent, min(len(self.sent), count // 5))
        self.sent += taken
        self.nameless += 1
        producer = Producer(client_config(self.topic.endpoints))
        for one in (*taken, *again, {"shop": "nord", "version": 1, "op": "U"}):
            name = f"{one.get('id')} {one['version']}"
            producer.produce(self.topic.name, json.dumps({**one, "name": name}))
        assert producer.flush(60) == 0

    @contextmanager
    def streaming(self):
        """The streams in a process of their own, which is killed at the end."""
        with (
            self.log.open("a") as lines,
            subprocess.Popen(  # noqa: S603 - our own command line
                [*COMMAND, "stream"],
                env=child_environment(self.settings),
                stdout=lines,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def wait_for(self, is_so):
        """Until it is so; the test fails if that does not come."""
        waiting = Retrying(
            retry=retry_if_result(lambda found: not found),
            stop=stop_after_delay(WAIT_S),
            wait=wait_fixed(0.3),
            retry_error_callback=lambda _: pytest.fail(self.log.read_text()[-3000:]),
        )
        waiting(is_so)

    def rows(self):
        """What the live view has, as shop, id, version and name."""
        found = set()
        for shop in SHOPS:
            table = self.feed.gold_table(self.feed.view("current"), shop)
            path = str(self.settings.lake_dir / table.relative)
            if DeltaTable.is_deltatable(path):
                rows = DeltaTable(path).to_pyarrow_table().to_pylist()
                own = [(shop, row["id"], row["version"], row["name"]) for row in rows]
                assert len({id_ for _, id_, *_ in own}) == len(own)
                found.update(own)
        return found

    def refused(self):
        """Why rows are in quarantine."""
        place = str(self.settings.lake_dir / quarantine_of("customers").relative)
        if not DeltaTable.is_deltatable(place):
            return []
        return DeltaTable(place).to_pyarrow_table()["detail"].to_pylist()

    def reading(self):
        """A plain reading of all that was sent."""
        newest = {}
        for one in self.sent:
            row = one["shop"], one["id"]
            newest[row] = max((one["version"], one["op"]), newest.get(row, (-1, "")))
        return {
            (*row, version, f"{row[1]} {version}")
            for row, (version, op) in newest.items()
            if op == "U"
        }

    def is_read(self):
        """Whether the table is that of all changes."""
        return self.rows() == self.reading()


@pytest.mark.timeout(600)
@pytest.mark.long
def test_a_live_keyed_table_is_that_of_all_changes_after_a_kill(settings, services, tmp_path):
    changes = Changes(settings, services, tmp_path / "feeds")
    changes.send(200)
    with changes.streaming() as process:
        changes.wait_for(changes.is_read)
        before = changes.rows()
        for _ in range(4):
            changes.send(150)
        changes.wait_for(lambda: changes.rows() != before)
        changes.send(150)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    changes.send(150)
    with changes.streaming() as process:
        changes.send(100)
        changes.wait_for(changes.is_read)
        changes.send(100)
        changes.wait_for(changes.is_read)
        changes.wait_for(lambda: len(changes.refused()) >= changes.nameless)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert changes.is_read()
    assert changes.refused() == ["current_has_key_and_order"] * changes.nameless
