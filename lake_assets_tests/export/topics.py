"""Topics for exports, and what their folders have."""

import json
from collections import Counter
from pathlib import Path

from confluent_kafka import Producer

from lake_assets.export.run import ExportReport, Request, export_topic
from lake_assets.sources.kafka.topics import client_config, end_offsets
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic


def fill(topic: Topic, *values: bytes | None, partition: int = 0) -> None:
    producer = Producer({**client_config(topic.endpoints), "linger.ms": 20})
    for value in values:
        producer.produce(topic.name, value, partition=partition)
    assert producer.flush(60) == 0


def numbers(begin: int, end: int) -> list[bytes]:
    return [b'{"n": %d}' % number for number in range(begin, end)]


def transaction(topic: Topic, *values: bytes, commits: bool) -> None:
    """Write a transaction to partition 0, where no other is open, and wait until all see its end.

    A coordinator says that it has ended before its partitions know.
    """
    end = end_offsets(topic.endpoints, topic.name)[0] + len(values) + 1
    own = {"transactional.id": f"{topic.name}-{commits}"}
    producer = Producer({**client_config(topic.endpoints), **own})
    producer.init_transactions(60)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic.name, value, partition=0)
    producer.flush(60)
    if commits:
        producer.commit_transaction(60)
    else:
        producer.abort_transaction(60)
    wait_until_readable(topic, end)


def wait_until_readable(topic: Topic, end: int) -> None:
    """Records of partition 0 below an offset can be read, and no more are there."""

    def is_readable() -> bool:
        return end_offsets(topic.endpoints, topic.name)[0] == end

    wait_for(is_readable, f"the last stable offset {end}", within_s=120)


def export(topic: Topic, folder: Path, **options: object) -> ExportReport:
    return export_topic(topic.endpoints, Request(topic=topic.name, folder=folder, **options))


def visible(folder: Path) -> list[Path]:
    """What a feed sees, in the order of names."""
    return sorted(path for path in folder.iterdir() if path.name[0] != ".")


def lines(folder: Path) -> list[bytes]:
    return [line for path in visible(folder) for line in path.read_bytes().splitlines()]


def counted(folder: Path) -> Counter[int]:
    return Counter(json.loads(line)["n"] for line in lines(folder))


def range_of(begin: int, end: int) -> Counter[int]:
    return Counter(range(begin, end))
