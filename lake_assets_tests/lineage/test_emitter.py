import logging
import threading
from functools import partial
from types import SimpleNamespace

import pytest

from lake_assets.lineage.emitter import MOST_WAITING, Emitter, emitter
from lake_assets.settings.load import openlineage_environment
from lake_assets_tests.lineage.server import run_keeper


class Client:
    def __init__(self):
        self.sent, self.is_down = [], False

    def emit(self, event):
        if self.is_down:
            raise ConnectionError("nobody is there")
        self.sent.append(event)

    def close(self, timeout=-1.0):
        self.sent.append(f"end within {timeout:g} s")
        return True


@pytest.fixture
def client():
    return Client()


def test_events_are_made_and_sent_in_their_order(client):
    out = Emitter(lambda: client)
    for number in range(5):
        out.tell(partial(lambda one: [one, -one], number))
    out.flush()
    assert client.sent == [0, 0, 1, -1, 2, -2, 3, -3, 4, -4, "end within 5 s"]


def lines(caplog):
    return [one.getMessage() for one in caplog.records if one.name == "lake_assets.lineage.emitter"]


def test_what_goes_wrong_is_said_once_until_an_event_gets_through(client, caplog):
    caplog.set_level(logging.INFO, "lake_assets.lineage.emitter")
    out = Emitter(lambda: client)
    client.is_down = True
    for _ in range(3):
        out.tell(lambda: ["lost"])
    out.tell(lambda: [1 / 0])
    out.flush()
    (said,) = lines(caplog)
    assert said.endswith("nothing else is held up by that: nobody is there")
    client.is_down = False
    out.tell(lambda: ["kept"])
    out.flush()
    assert (client.sent[1], lines(caplog)[1:]) == ("kept", ["lineage is sent again"])


def test_a_missing_client_is_told_as_what_to_install(caplog):
    def missing():
        raise RuntimeError("openlineage-python is not installed: pip install …")

    out = Emitter(missing)
    out.tell(lambda: ["lost"])
    out.flush()
    assert "is not installed: pip install" in lines(caplog)[0]


def test_nobody_waits_for_a_client_that_hangs(client, caplog):
    is_asked, goes_on = threading.Event(), threading.Event()

    def hang(event):
        is_asked.set()
        goes_on.wait(60)
        client.sent.append(event)

    out = Emitter(lambda: SimpleNamespace(emit=hang, close=client.close))
    out.tell(lambda: ["first"])
    is_asked.wait(60)
    for _ in range(MOST_WAITING + 5):
        out.tell(list)
    assert f"more than {MOST_WAITING} things wait" in lines(caplog)[0]
    out.flush(timeout_s=0.01)
    assert client.sent == []
    goes_on.set()
    out.flush()
    assert client.sent[0] == "first"


@pytest.mark.parametrize(
    ("variables", "is_on"),
    [
        ({}, False),
        ({"OPENLINEAGE_URL": "http://x"}, True),
        ({"OPENLINEAGE_URL": ""}, False),
        ({"OPENLINEAGE_NAMESPACE": "x"}, False),
        ({"OPENLINEAGE_CONFIG": "/etc/openlineage.yml"}, True),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "console"}, True),
        ({"OPENLINEAGE_URL": "http://x", "OPENLINEAGE_DISABLED": "TRUE"}, False),
    ],
)
def test_it_is_on_where_openlineages_variables_say_where_events_go(monkeypatch, variables, is_on):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = emitter()
    assert (found is not None) == is_on
    assert emitter() is found  # one for all that a process has to tell


def test_a_real_server_that_refuses_costs_nothing_but_a_line(monkeypatch, tmp_path, caplog):
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

    event = RunEvent(
        eventType=RunState.START,
        eventTime="2026-11-27T21:00:00Z",
        run=Run(runId="0193742b-9d67-7c1f-8b5e-111111111111"),
        job=Job(namespace="x", name="y"),
        producer="https://example.com",
    )
    with run_keeper(tmp_path / "events", status=403) as server:
        address = server.url.replace("://", "://anna:s@esame@")
        monkeypatch.setenv("OPENLINEAGE_URL", address)
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "sesame")
        before = openlineage_environment()
        out = emitter()
        out.tell(lambda: [event, event])
        out.flush(timeout_s=60)
    assert "403" in lines(caplog)[0]
    assert "esame" not in caplog.text
    assert openlineage_environment() == before  # what children inherit
    assert emitter() is out
