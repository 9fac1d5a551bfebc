import json
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from faults.journal import Acked, Reading
from faults.load import PLAYERS, Plan, player, window_of
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets.simulator.games.schema import message_class
from lake_assets.sources.kafka.topics import ensure_topic
from lake_assets_tests.e2e.dev import ROOT, wait_for

RATE, FOR_S = 200.0, 3.0

BAD = b"bad "


@dataclass(frozen=True)
class Loaded:
    """What a load of some seconds said, noted, and sent."""

    told: dict[str, int]
    noted: list[Acked]
    messages: dict[tuple[int, int], bytes]
    """What the topic has, by place."""


@pytest.fixture(scope="module")
def loaded(services, tmp_path_factory):
    topic = f"load-{uuid4().hex[:8]}"
    journal = tmp_path_factory.mktemp("load") / "journal.jsonl"
    ensure_topic(services, topic)
    plan = Plan(
        kafka=services.kafka,
        registry=services.registry,
        topic=topic,
        subject=f"{topic}-value",
        journal=journal,
        seed=1,
        rate=RATE,
        key_every_s=1.0,
        most_keys=5,
        version_every_s=1.0,
        player_for_s=1.0,
        bad_share=0.1,
    )
    with subprocess.Popen(
        [sys.executable, "-m", "faults.load"],
        env={**child_environment(Settings()), "PYTHONPATH": str(ROOT)},
        cwd=journal.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdin.write(plan.model_dump_json())
        process.stdin.close()
        process.stdin = None
        wait_for(lambda: Reading(journal).more(), "the first acknowledgement", within_s=120)
        time.sleep(FOR_S)  # keys, versions and players come along with time
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
    return Loaded(json.loads(said), Reading(journal).more(), read_all(services.kafka, topic))


def read_all(kafka, topic):
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "any", "error_cb": str})
    found = {}
    for partition in consumer.list_topics(topic, 10).topics[topic].partitions:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), 10)
        consumer.assign([TopicPartition(topic, partition, 0)])
        while sum(where == partition for where, _ in found) < end:
            message = consumer.poll(10)
            found[message.partition(), message.offset()] = message.value()
    consumer.close()
    return found


def decoded(loaded, event):
    framed = loaded.messages[event.place]
    schema_id, body = int.from_bytes(framed[1:5], "big"), framed[6:]
    return schema_id, message_class(9).FromString(body)


@pytest.mark.kafka
def test_each_event_that_the_broker_has_is_noted_once_with_its_place(loaded):
    assert len(loaded.noted) == loaded.told["sent"] > RATE
    assert loaded.told["given_up"] == 0
    assert len({event.id for event in loaded.noted}) == len(loaded.noted)
    assert Counter(event.place for event in loaded.noted) == Counter([*loaded.messages])


@pytest.mark.kafka
def test_what_is_noted_of_an_event_is_what_was_sent(loaded):
    good = [event for event in loaded.noted if event.game]
    bad = [event for event in loaded.noted if not event.game]
    for event in good:
        _, message = decoded(loaded, event)
        noted = (event.id, event.game, event.gamer)
        assert (message.device_id, message.game_name, message.gamer_id) == noted
    assert {loaded.messages[e.place] for e in bad} == {BAD + e.id.encode() for e in bad}
    assert 0 < len(bad) < len(good)


@pytest.mark.kafka
def test_keys_versions_and_players_come_along_with_time(loaded):
    good = sorted((event for event in loaded.noted if event.game), key=lambda one: int(one.id[1:]))
    windows = [window_of(event.gamer) for event in good]  # all are of a second here
    assert windows == sorted(windows)
    assert len({*windows}) > FOR_S - 1
    keys = [int(event.game.removeprefix("game_")) for event in good]
    assert all(key < 3 + window for key, window in zip(keys, windows, strict=True))
    assert {*keys} == {*range(5)}
    versions = [decoded(loaded, event)[0] for event in good]
    assert versions == sorted(versions)
    assert 1 < len({*versions}) <= 1 + max(windows)
    assert len({event.gamer for event in good if window_of(event.gamer) == windows[0]}) <= PLAYERS


def test_a_player_of_another_window_is_another_player():
    names = [player(100.0, now, 15.0, 3) for now in (100.0, 114.9, 115.0, 250.0)]
    assert names == ["w0-p3", "w0-p3", "w1-p3", "w10-p3"]
    assert [window_of(name) for name in names] == [0, 0, 1, 10]
