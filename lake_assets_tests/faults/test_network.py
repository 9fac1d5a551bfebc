import threading
from pathlib import Path
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

ROLES = ("broker", "registry", "store")


class Recording(ToxicProxy):
    """A proxy that says how it was told to treat its links."""

    def __init__(self, random):
        super().__init__(random)
        self.told = []

    def set(self, role, toxicity):
        self.told.append((role, toxicity))
        super().set(role, toxicity)


@pytest.fixture
def proxy():
    with Recording(Random(1)) as one:
        one.listen("registry")
        yield one


SYSTEM = SimpleNamespace(log=lambda line: None)


def test_there_is_each_kind_for_each_role_and_a_role_without_a_link_is_said(proxy):
    faults = network_faults(proxy, ROLES)
    assert len({fault.name for fault in faults}) == 12
    assert {fault.name: fault.unavailable() for fault in faults if "blackhole" in fault.name} == {
        "blackhole of the broker": "nothing goes through the proxy to a broker here",
        "blackhole of the registry": None,
        "blackhole of the store": "nothing goes through the proxy to a store here",
    }


@pytest.mark.parametrize("kind", [DroppedConnections, DelayedTraffic, CutMessages, Blackhole])
def test_a_fault_treats_one_link_badly_and_ends_also_when_its_block_fails(proxy, kind):
    with pytest.raises(RuntimeError), kind(proxy, "registry").inject(SYSTEM, Random(2)) as done:
        assert "registry" in done
        ((role, within),) = proxy.told
        assert role == "registry"
        assert within != Toxicity()
        raise RuntimeError
    assert proxy.told[1:] == [("registry", Toxicity())]


@pytest.mark.parametrize("kind", [DelayedTraffic, CutMessages])
def test_the_same_seed_does_the_same(proxy, kind):
    said = []
    for seed in (3, 3, 4):
        with kind(proxy, "registry").inject(SYSTEM, Random(seed)) as done:
            said.append(done)
    assert said[0] == said[1] != said[2]


@pytest.fixture(scope="module")
def broker(tmp_path_factory, pytestconfig):
    """Where it listens itself, the proxy, and its link."""
    from lake_assets.settings.load import load_settings

    settings = load_settings()
    java = find_java(settings.runtime.cache)
    jars = ensure_files(("kafka",), java, settings)["kafka"]
    folder = Path(tmp_path_factory.mktemp("proxied")) / "kafka"
    with ToxicProxy(Random(1)) as proxy:
        link = proxy.listen("broker")
        try:
            state = lifecycle.ensure_started(broker_behind(link), folder, java, jars)
            proxy.lead("broker", ("127.0.0.1", state.ports[2]))
            yield f"127.0.0.1:{state.ports[0]}", proxy, "{}:{}".format(*link)
        finally:
            lifecycle.stop_service(folder)


@pytest.mark.kafka
def test_a_client_of_kafka_that_came_through_the_proxy_stays_in_it(broker):
    own, proxy, link = broker
    admins = [AdminClient({"bootstrap.servers": address}) for address in (own, link)]
    admins[0].create_topics([NewTopic("one", 1)])["one"].result()
    advertised = [str(admin.list_topics().brokers[1]) for admin in admins]
    assert [text.partition("/")[0] for text in advertised] == [own, link]

    producer = Producer({"bootstrap.servers": own, "linger.ms": 0})

    def send(text):
        failed = []
        producer.produce("one", text, on_delivery=lambda error, _: error and failed.append(error))
        assert producer.flush(10) == 0
        assert failed == []

    errors = []
    reader = {
        "bootstrap.servers": link,
        "group.id": "any",
        "auto.offset.reset": "earliest",
        "error_cb": errors.append,
        "reconnect.backoff.max.ms": 200,
    }
    consumer = Consumer(reader)
    consumer.assign([TopicPartition("one", 0, 0)])
    try:
        send("a")
        assert consumer.poll(20).value() == b"a"
        for fault in (Blackhole(proxy, "broker"), DroppedConnections(proxy, "broker")):
            with fault.inject(SYSTEM, Random(1)):
                send(fault.name)
                assert consumer.poll(1) is None
            assert consumer.poll(20).value().decode() == fault.name
        logged = []
        with CutMessages(proxy, "broker").inject(SimpleNamespace(log=logged.append), Random(1)):
            cut_at_all = threading.Event()
            for number in range(400):
                send(str(number))
                if proxy.cut("broker"):
                    cut_at_all.set()
                    break
                consumer.poll(0.05)
            assert cut_at_all.is_set()
        assert "were cut in a message" in logged[0]
    finally:
        consumer.close()
