import logging
import socket

import httpx
import pytest
from prometheus_client import CollectorRegistry, Counter

from lake_assets.metrics.health import Health
from lake_assets.metrics.server import Answers, serving
from lake_assets.settings.watch import MetricsSettings


class Asked:
    def __init__(self):
        self.times = 0
        self.live = Health(problems={})
        self.ready = Health(problems={"games": "it waits: no broker"})
        self.registry = CollectorRegistry()
        Counter("lake_assets_rows", "Rows.", registry=self.registry).inc(3)

    def ask(self):
        self.times += 1

    @property
    def answers(self):
        return Answers(
            registry=self.registry,
            live=lambda: self.live,
            ready=lambda: self.ready,
            asked=self.ask,
        )


@pytest.fixture
def asked():
    return Asked()


def test_metrics_are_told_as_prometheus_reads_them(asked):
    with serving(MetricsSettings(), asked.answers) as address:
        found = httpx.get(f"{address}/metrics", timeout=30)
    assert found.headers["content-type"].startswith("text/plain")
    assert "lake_assets_rows_total 3.0" in found.text.splitlines()
    assert asked.times == 1


def test_health_is_a_status_and_says_why_not(asked):
    with serving(MetricsSettings(), asked.answers) as address:
        live, ready = httpx.get(f"{address}/healthz", timeout=30), httpx.get(f"{address}/readyz")
    assert (live.status_code, live.json()) == (200, {"ok": True, "problems": {}})
    assert ready.status_code == 503
    assert ready.json() == {"ok": False, "problems": {"games": "it waits: no broker"}}
    assert asked.times == 0  # health alone needs no look at brokers


def test_another_path_is_not_found_and_told_which_there_are(asked):
    with serving(MetricsSettings(), asked.answers) as address:
        found = httpx.get(f"{address}/etc/passwd", timeout=30)
    assert found.status_code == 404
    assert found.json() == {"paths": ["/metrics", "/healthz", "/readyz"]}


def test_a_port_that_is_taken_stops_nobody_and_is_told(asked, caplog):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            caplog.at_level(logging.WARNING),
            serving(MetricsSettings(port=port), asked.answers) as address,
        ):
            assert address is None
    (told,) = caplog.messages
    assert f"127.0.0.1:{port} cannot be listened on" in told
    assert "LAKE_ASSETS_METRICS_PORT" in told


def test_a_host_that_is_not_this_machines_stops_nobody(asked, caplog):
    with serving(MetricsSettings(host="no such host"), asked.answers) as address:
        assert address is None
    assert "no such host" in caplog.text


def test_nothing_is_served_where_nothing_shall_be(asked):
    with serving(MetricsSettings(serve=False), asked.answers) as address:
        assert address is None


def test_what_listens_everywhere_is_asked_on_this_machine(asked):
    with serving(MetricsSettings(host="0.0.0.0"), asked.answers) as address:  # noqa: S104
        assert address.startswith("http://127.0.0.1:")
        assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200


def test_a_port_may_be_taken_again_at_once(asked):
    with serving(MetricsSettings(), asked.answers) as first:
        httpx.get(f"{first}/metrics", timeout=30)
    port = int(first.rpartition(":")[2])
    with serving(MetricsSettings(port=port), asked.answers) as again:
        assert again == first
        assert httpx.get(f"{again}/healthz", timeout=30).status_code == 200


def test_a_client_that_says_nothing_keeps_no_other_waiting(asked):
    with serving(MetricsSettings(), asked.answers) as address:
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)):
            assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200


def test_it_listens_on_ipv6_as_well(asked):
    with serving(MetricsSettings(host="::1"), asked.answers) as address:
        assert address.startswith("http://[::1]:")
        assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200
