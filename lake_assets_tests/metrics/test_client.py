import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from prometheus_client import CollectorRegistry, Gauge

from lake_assets.errors import ServiceError
from lake_assets.metrics.client import ask, metrics_address
from lake_assets.metrics.health import Health
from lake_assets.metrics.server import Answers, serving
from lake_assets.settings.watch import MetricsSettings
from lake_assets.state.files import own_heartbeat, streams_lock, write_heartbeat


def beat(metrics):
    return own_heartbeat("a test", progressed_at=0.0, waiting_for=None, metrics=metrics)


def test_the_address_is_the_one_that_the_heartbeat_tells(settings):
    with streams_lock(settings.state_dir):
        write_heartbeat(settings.state_dir, beat("http://127.0.0.1:9464"))
        assert metrics_address(settings) == "http://127.0.0.1:9464"


def test_streams_that_have_ended_are_none_though_their_heartbeat_is_there(settings):
    with streams_lock(settings.state_dir):
        write_heartbeat(settings.state_dir, beat("http://127.0.0.1:9464"))
    with pytest.raises(ServiceError, match=r"none run for the lake .*lake-assets stream"):
        metrics_address(settings)


def test_a_lake_that_nobody_has_streamed_into_has_no_streams(settings):
    with pytest.raises(ServiceError, match="none run"):
        metrics_address(settings)


def test_streams_that_begin_have_no_address_yet(settings):
    with (
        streams_lock(settings.state_dir),
        pytest.raises(ServiceError, match=r"begin.*wait a moment"),
    ):
        metrics_address(settings)


def test_streams_without_an_endpoint_say_why(settings):
    with streams_lock(settings.state_dir):
        write_heartbeat(settings.state_dir, beat(None))
        with pytest.raises(ServiceError, match=r"serve no metrics.*LAKE_ASSETS_METRICS_PORT"):
            metrics_address(settings)


def test_the_heartbeat_of_a_release_that_had_no_metrics_is_read(settings):
    with streams_lock(settings.state_dir):
        write_heartbeat(settings.state_dir, beat(None))
        path = settings.state_dir / "heartbeat.json"
        path.write_text(path.read_text().replace(',"metrics":null', ""))
        with pytest.raises(ServiceError, match="serve no metrics"):
            metrics_address(settings)


def test_metrics_and_problems_come_together():
    registry = CollectorRegistry()
    Gauge("lake_assets_disk_free_bytes", "Bytes.", registry=registry).set(7)
    unready = Health(problems={"games": "it waits: no broker"})
    answers = Answers(
        registry=registry, live=lambda: unready, ready=lambda: unready, asked=lambda: None
    )
    with serving(MetricsSettings(), answers) as address:
        answer = ask(address)
    assert answer.scrape.most("disk_free_bytes") == 7
    assert answer.problems == {"games": "it waits: no broker"}


class Other(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>{")

    def log_message(self, *_):
        pass


def test_another_server_at_the_address_is_told():
    server = HTTPServer(("127.0.0.1", 0), Other)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with pytest.raises(ServiceError, match="does not answer as streams do"):
            ask(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "no address", "http://[", "ftp://x"])
def test_an_address_where_nobody_answers_is_told(address):
    with pytest.raises(ServiceError, match="does not answer as streams do"):
        ask(address)
