import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lake_assets.errors import ServiceError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import Payload
from lake_assets.model.sinks import Sink
from lake_assets.model.sources import Source
from lake_assets.services import control
from lake_assets.services.child import is_gone
from lake_assets.services.control import State
from lake_assets.settings.schema import KafkaSettings, RegistrySettings, Settings
from lake_assets_tests.sample import GAMES

_SCHEMA = 'syntax = "proto3"; message E { string a = 1; }'


def _put(endpoints: Endpoints) -> int:
    """Write one message and one schema; returns the schema's id."""
    admin = AdminClient({"bootstrap.servers": endpoints.kafka})
    admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result()
    producer = Producer({"bootstrap.servers": endpoints.kafka})
    producer.produce("kept", b"message")
    assert producer.flush(20) == 0
    body = {"schemaType": "PROTOBUF", "schema": _SCHEMA}
    answer = httpx.post(f"{endpoints.registry}/subjects/kept-value/versions", json=body, timeout=20)
    answer.raise_for_status()
    return int(answer.json()["id"])


def _get(endpoints: Endpoints, schema_id: int) -> tuple[bytes | None, str]:
    """Read both back."""
    consumer = Consumer(
        {
            "bootstrap.servers": endpoints.kafka,
            "group.id": "test",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["kept"])
    message = consumer.poll(30)
    consumer.close()
    answer = httpx.get(f"{endpoints.registry}/schemas/ids/{schema_id}", timeout=20)
    return message.value() if message else None, answer.json()["schema"]


def _pids(settings: Settings) -> set[int | None]:
    found = control.status(settings)
    return {found.kafka.pid, found.registry.pid}


@pytest.fixture
def home(settings: Settings) -> Iterator[Settings]:
    yield settings
    control.down(settings)


@pytest.mark.kafka
def test_data_and_ports_survive_a_kill(home):
    feed = load_feeds(None)[0]
    assert feed.feed == "fitness"
    assert control.up(home, [feed]).registry == ""  # which it needs none of
    assert control.status(home).registry.state is State.STOPPED
    before = control.up(home)
    schema_id = _put(before)
    for pid in _pids(home):
        process = psutil.Process(pid)
        process.kill()
        assert is_gone(process, within_s=10)
    found = control.status(home)
    assert (found.kafka.state, found.registry.state) == (State.STOPPED, State.STOPPED)
    after = control.up(home)
    assert after == before
    value, schema = _get(after, schema_id)
    assert value == b"message"
    assert "message E" in schema


@pytest.mark.kafka
def test_two_ups_at_once_start_one_set_and_down_ends_it(home):
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(control.up, itertools.repeat(home, 2))
    assert first == second == control.locate(home)
    found = control.status(home)
    assert (found.kafka.state, found.registry.state) == (State.RUNNING, State.RUNNING)
    processes = [psutil.Process(pid) for pid in _pids(home)]
    control.down(home)
    assert all(is_gone(process, within_s=0) for process in processes)
    with pytest.raises(ServiceError, match="lake-assets services up"):
        control.locate(home)


@pytest.mark.kafka
def test_beside_the_users_own_broker_only_the_registry_is_started(home, services):
    kafka = KafkaSettings(bootstrap_servers=services.kafka, options={"client.id": "me"})
    mixed = home.model_copy(update={"kafka": kafka})
    endpoints = control.up(mixed)
    assert endpoints.kafka == services.kafka
    assert endpoints.client_options() == {"client.id": "me"}
    assert endpoints.registry != services.registry
    assert [path.name for path in home.services_dir.iterdir() if path.is_dir()] == ["registry"]
    assert control.status(mixed).kafka.state is State.YOURS


def test_with_both_of_the_users_own_nothing_is_started(settings):
    own = settings.model_copy(
        update={
            "kafka": KafkaSettings(bootstrap_servers="broker:9092"),
            "registry": RegistrySettings(url="http://registry"),
        }
    )
    assert control.up(own) == Endpoints(kafka="broker:9092", registry="http://registry")
    found = control.status(own)
    assert (found.kafka.state, found.registry.state) == (State.YOURS, State.YOURS)
    assert not settings.services_dir.exists()


def test_nothing_to_stop_makes_nothing(settings):
    control.down(settings)
    assert not settings.home.exists()


def test_without_services_the_error_names_the_command(settings):
    with pytest.raises(
        ServiceError, match=r"does not run\. Start it with `lake-assets services up`"
    ):
        control.locate(settings)


def test_a_home_that_cannot_be_written_is_named(settings: Settings, tmp_path: Path):
    (tmp_path / "file").touch()
    closed = settings.model_copy(update={"home": tmp_path / "file" / "home"})
    with pytest.raises(ServiceError, match=r"cannot be written.*LAKE_ASSETS_HOME"):
        control.up(closed)


@pytest.mark.long
@pytest.mark.kafka
def test_a_frozen_broker_is_seen_as_silent(home):
    control.up(home)
    process = psutil.Process(control.status(home).kafka.pid)
    process.suspend()
    try:
        assert control.status(home).kafka.state is State.SILENT
    finally:
        process.resume()


def test_a_registry_that_no_feed_needs_is_not_looked_for(settings):
    mine = settings.model_copy(update={"kafka": KafkaSettings(bootstrap_servers="mine:1")})
    payload = Payload.model_validate({"json": {"schema": "game_name string"}})
    fitness = GAMES.model_copy(update={"payload": payload})
    assert control.locate(mine, [fitness]).registry == ""
    for feeds in (None, [fitness, GAMES]):
        with pytest.raises(ServiceError, match="embedded registry"):
            control.locate(mine, feeds)


def test_who_reads_files_alone_needs_no_service(tmp_path):
    source = Source(files=FilesSource(path="/data", format="jsonl"))
    payload = Payload.model_validate({"json": {"schema": "bpm int"}})
    feeds = [Feed(feed="beats", source=source, payload=payload)]
    found = control.up(Settings(home=tmp_path), feeds)
    assert (found.kafka, found.registry) == ("", "")
    assert not control.needs_broker(feeds)


def test_who_sends_messages_of_registered_schemas_needs_a_registry():
    source = Source(files=FilesSource(path="/data", format="jsonl"))
    payload = Payload.model_validate({"json": {"schema": "bpm int"}})
    for value, is_needed in (("json", False), ("protobuf", True)):
        kafka = {"topic": "beats", "value": value, "bootstrap_servers": "other:1"}
        sink = Sink.model_validate({"name": "out", "from": "silver", "kafka": kafka})
        feeds = [Feed(feed="beats", source=source, payload=payload, sinks=(sink,))]
        assert (control.needs_broker(feeds), control.needs_registry(feeds)) == (False, is_needed)


def test_who_reads_topics_alone_needs_a_broker_and_no_registry(settings):
    kafka = KafkaSettings(bootstrap_servers="mine:1", options={"client.id": "me"})
    found = control.locate_broker(settings.model_copy(update={"kafka": kafka}))
    assert (found.kafka, found.registry) == ("mine:1", "")
    assert found.client_options() == {"client.id": "me"}
    with pytest.raises(ServiceError, match="lake-assets services up"):
        control.locate_broker(settings)
