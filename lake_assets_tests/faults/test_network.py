from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from faults.network import (
    Blackhole,
    CutMessages,
    DelayedTraffic,
    DroppedConnections,
    broker_behind,
    network_faults,
)
from faults.toxic_proxy import Toxicity, ToxicProxy
from lake_assets.runtime.java import find_java
from lake_assets.runtime.setup import ensure_files
from lake_assets.services import lifecycle
from lake_assets.settings.load import load_settings

ROLES = ("broker", "registry", "store")

TOPIC = "one"


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - faults are to come again


class Recording(ToxicProxy):
    """A proxy that says how it was told to treat its links."""

    def __init__(self):
        super().__init__(seeded(1))
        self.told = []

    def set(self, role, toxicity):
        self.told.append((role, toxicity))
        super().set(role, toxicity)


@pytest.fixture
def proxy():
    with Recording() as one:
        one.listen("registry")
        yield one


@pytest.fixture
def system():
    lines = []
    return SimpleNamespace(log=lines.append, lines=lines)


def test_there_is_each_kind_for_each_role_and_a_role_without_a_link_is_said(proxy):
    faults = network_faults(proxy, ROLES)
    assert len({fault.name for fault in faults}) == 12
    assert {fault.name: fault.unavailable() for fault in faults if "blackhole" in fault.name} == {
        "blackhole of the broker": "nothing goes through the proxy to a broker here",
        "blackhole of the registry": None,
        "blackhole of the store": "nothing goes through the proxy to a store here",
    }


@pytest.mark.parametrize("kind", [DroppedConnections, DelayedTraffic, CutMessages, Blackhole])
def test_a_fault_treats_one_link_badly_and_ends_also_when_its_block_fails(proxy, system, kind):
    def fail_within():
        with kind(proxy, "registry").inject(system, seeded(2)) as done:
            assert "registry" in done
            ((role, within),) = proxy.told
            assert role == "registry"
            assert within != Toxicity()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_within()
    assert proxy.told[1:] == [("registry", Toxicity())]


@pytest.mark.parametrize("kind", [DelayedTraffic, CutMessages])
def test_the_same_seed_does_the_same(proxy, system, kind):
    said = []
    for seed in (3, 3, 4):
        with kind(proxy, "registry").inject(system, seeded(seed)) as done:
            said.append(done)
    assert said[0] == said[1] != said[2]


@dataclass(frozen=True)
class Proxied:
    """A broker where it listens itself, the proxy before it, and the address of its link."""

    own: str
    proxy: ToxicProxy
    link: str
    producer: Producer

    def send(self, text: str) -> None:
        """Put a message into the topic, past the proxy."""
        failed = []

        def note(error, _):
            if error:
                failed.append(error)

        self.producer.produce(TOPIC, text, on_delivery=note)
        assert self.producer.flush(10) == 0
        assert failed == []


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[Proxied]:
    settings = load_settings()
    java = find_java(settings.runtime.cache)
    jars = ensure_files(("kafka",), java, settings)["kafka"]
    folder = tmp_path_factory.mktemp("proxied") / "kafka"
    with ToxicProxy(seeded(1)) as proxy:
        link = proxy.listen("broker")
        try:
            state = lifecycle.ensure_started(broker_behind(link), folder, java, jars)
            own = f"127.0.0.1:{state.ports[0]}"
            proxy.lead("broker", ("127.0.0.1", state.ports[2]))
            admin = AdminClient({"bootstrap.servers": own})
            admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result()
            producer = Producer({"bootstrap.servers": own, "linger.ms": 0})
            yield Proxied(own, proxy, f"{link[0]}:{link[1]}", producer)
        finally:
            lifecycle.stop_service(folder)


@pytest.fixture
def consumer(broker):
    """That reads through the proxy what is new."""
    options = {
        "bootstrap.servers": broker.link,
        "group.id": "any",
        "auto.offset.reset": "error",
        "error_cb": str,
        "reconnect.backoff.max.ms": 200,
    }
    consumer = Consumer(options)
    _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), 10)
    consumer.assign([TopicPartition(TOPIC, 0, end)])
    yield consumer
    consumer.close()


@pytest.mark.kafka
def test_the_broker_sends_clients_of_the_proxy_to_the_proxy_and_others_to_itself(broker):
    admins = [AdminClient({"bootstrap.servers": at}) for at in (broker.own, broker.link)]
    told = [str(admin.list_topics().brokers[1]).partition("/")[0] for admin in admins]
    assert told == [broker.own, broker.link]


@pytest.mark.kafka
@pytest.mark.parametrize("kind", [Blackhole, DroppedConnections])
def test_a_consumer_gets_nothing_while_its_link_is_away_and_all_after_it(
    broker, consumer, system, kind
):
    broker.send("before")
    assert consumer.poll(20).value() == b"before"
    with kind(broker.proxy, "broker").inject(system, seeded(1)):
        broker.send("within")
        assert consumer.poll(1) is None
    assert consumer.poll(20).value() == b"within"


@pytest.mark.kafka
def test_messages_are_cut_and_a_consumer_gets_each_once(broker, consumer, system):
    sent, got = [], []
    with CutMessages(broker.proxy, "broker").inject(system, seeded(1)):
        while not broker.proxy.cut("broker") and len(sent) < 400:
            sent.append(str(len(sent)))
            broker.send(sent[-1])
            message = consumer.poll(0.05)
            got += [message] if message else []
    while len(got) < len(sent):
        got.append(consumer.poll(20))
    assert [message.value().decode() for message in got] == sent
    assert "were cut in a message" in system.lines[0]
