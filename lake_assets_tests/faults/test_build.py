"""The largest stack there is, without streams: it takes half a minute. `make faults` runs each."""

from uuid import uuid4

import httpx
import pytest
from confluent_kafka.admin import AdminClient

from faults.build import run_stack
from faults.clock import cannot_step
from faults.lake import BUCKET
from faults.process_table import SERVER, started
from faults.stack import WORKERS, Asked, Log

pytestmark = [pytest.mark.bench, pytest.mark.kafka]


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    run, folder = uuid4().hex[:12], tmp_path_factory.mktemp("faults")
    asked = Asked(venue="cluster", folder=folder, run=run, seed=1)
    with run_stack(asked, Log(folder / "run.log")) as one:
        yield one
    assert started(run) == []


def test_streams_find_each_server_through_the_proxy_and_others_find_it_directly(stack):
    broker = stack.settings.kafka.bootstrap_servers
    registry, store = stack.settings.registry.url, stack.settings.storage.options
    for role, link in (
        ("broker", broker),
        ("registry", registry),
        ("store", store["aws_endpoint_url"].get_secret_value()),
    ):
        host, port = stack.addresses[role]
        assert f"{host}:{port}" not in link
    for at in (broker, "{}:{}".format(*stack.addresses["broker"])):
        (known,) = AdminClient({"bootstrap.servers": at}).list_topics(timeout=20).brokers.values()
        assert f"{known.host}:{known.port}" == at
    assert httpx.get(f"{registry}/subjects", trust_env=False, timeout=20).json() == []
    url = store["aws_endpoint_url"].get_secret_value()
    httpx.put(
        f"{url}/{BUCKET}/faults/a", content=b"x", trust_env=False, timeout=30
    ).raise_for_status()
    assert [one.path for one in stack.place.files_below()] == ["a"]


def test_a_cluster_has_its_workers_and_all_that_runs_is_of_a_server(stack):
    stack.cluster.wait_for_workers(WORKERS)
    assert stack.settings.spark.master == stack.cluster.master
    found = stack.processes()
    assert {role: len(pids) for role, pids in found.items() if pids} == {
        "broker": 1,
        "registry": 1,
        "store": 1,
        "spark master": 1,
        "spark worker": WORKERS,
    }
    assert {one.part for one in started(stack.asked.run)} == {SERVER}
    assert (stack.clock is None) == (cannot_step() is not None)
    assert [one.name for one in stack.kept] == ["streams"]
