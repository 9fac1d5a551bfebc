import os
import re
import signal
import socket
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import psutil
import pytest

from faults import servers
from faults.servers import Server, make_bucket, ports_for, store_front, store_service
from lake_assets.errors import ServiceError
from lake_assets.runtime.java import find_java
from lake_assets.services.service import LOOPBACK, Service
from lake_assets.settings.load import child_environment, load_settings
from lake_assets.settings.schema import Settings
from lake_assets_tests.conftest import QUICK_JAVA
from lake_assets_tests.e2e.dev import wait_for

SAYS_ITS_PID = """
import os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(os.getpid()).encode())
print("up", flush=True)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
"""


def page_of(port, path=""):
    return httpx.get(f"http://{LOOPBACK}:{port}/{path}", timeout=30, trust_env=False).text


def answers(port):
    try:
        return page_of(port).isdigit()
    except httpx.HTTPError:
        return False


def service(program, wanted=1):
    def prepare(_folder, _java, _jars, ports):
        return [sys.executable, "-c", program, *map(str, ports)]

    return Service(name="page", group="kafka", ports=wanted, prepare=prepare, answers=answers)


@pytest.fixture
def server(tmp_path):
    made = []

    def make(of, java=None):
        environment = {**child_environment(Settings()), "JDK_JAVA_OPTIONS": QUICK_JAVA}
        made.append(Server(of, tmp_path / of.name, java, (), ports_for(of), environment))
        return made[-1]

    yield make
    for one in made:
        one.end()


def test_one_that_was_killed_comes_back_where_it_was(server):
    one = server(service(SAYS_ITS_PID))
    one.start()
    (before,) = one.pids
    assert page_of(one.address[1]) == str(before)
    one.start()
    assert one.pids == [before]  # it lives, so nothing is done
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: one.pids == [], "its end", within_s=120)
    one.start()
    (after,) = one.pids
    assert (page_of(one.address[1]), after != before) == (str(after), True)
    assert one.log.read_text().splitlines().count("up") == 2


def test_it_is_ended_also_while_it_stands_still(server):
    one = server(service(SAYS_ITS_PID))
    one.start()
    (pid,) = one.pids
    os.kill(pid, signal.SIGSTOP)
    one.end()
    assert (one.pids, psutil.pid_exists(pid)) == ([], False)


def test_one_that_ends_at_once_is_said_with_its_log(server):
    one = server(service("raise SystemExit('no room')"))
    with pytest.raises(ServiceError, match="page: does not answer") as caught:
        one.start()
    assert str(one.log) in str(caught.value)
    assert "no room" in one.log.read_text()


def test_one_that_does_not_answer_in_time_is_said(server, monkeypatch):
    monkeypatch.setattr(servers, "_STARTS_WITHIN_S", 0.2)
    one = server(service("import time; time.sleep(60)"))
    with pytest.raises(ServiceError, match="does not answer"):
        one.start()


def test_as_many_ports_as_it_wants_and_all_free():
    found = ports_for(service(SAYS_ITS_PID, wanted=3))
    assert len({*found}) == 3
    for port in found:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, port))


@pytest.fixture
def store(server):
    """A store with a bucket, and the way to it."""
    runtime = load_settings().runtime
    one = server(store_service(runtime), find_java(runtime.cache))
    one.start()
    make_bucket(one.ports[0], "lake")
    return one


OBJECTS = [f"log/{number:020}.json" for number in range(40)]


@pytest.mark.java
def test_a_store_lists_all_while_others_write_and_has_after_a_kill_what_it_had(store, tmp_path):
    with store_front(tmp_path, store.ports[0]) as (host, port):
        url = f"http://{host}:{port}/lake"
        with httpx.Client(timeout=30, trust_env=False) as client:
            for name in OBJECTS:
                client.put(f"{url}/{name}", content=b"first").raise_for_status()
            with writing(url) as written:
                lists = []
                while len(lists) < 40 or len(written) <= 10:
                    lists.append(client.get(f"{url}?list-type=2&prefix=log/").text)
        assert {keys_in(text) for text in lists} == {tuple(OBJECTS)}
        os.kill(store.pids[0], signal.SIGKILL)
        wait_for(lambda: store.pids == [], "its end", within_s=120)
        # As it calls what is being put when it is killed; each list would fail by it.
        (left,) = tmp_path.rglob(Path(OBJECTS[1]).name)
        left.with_name(f"{left.name}-{uuid4()}").write_bytes(b"half")
        store.start()
        assert page_of(port, f"lake/{OBJECTS[0]}") == "again"
        assert keys_in(page_of(port, "lake?list-type=2&prefix=log/")) == tuple(OBJECTS)


def keys_in(text):
    return tuple(re.findall("<Key>(.*?)</Key>", text))


@contextmanager
def writing(url):
    """Objects are written anew and deleted beside what the block does."""
    stop, written = threading.Event(), []

    def write():
        with httpx.Client(timeout=30, trust_env=False) as client:
            while not stop.is_set():
                name = OBJECTS[len(written) % len(OBJECTS)]
                client.put(f"{url}/{name}", content=b"again").raise_for_status()
                client.put(f"{url}/other/{name}", content=b"x").raise_for_status()
                client.delete(f"{url}/other/{name}").raise_for_status()
                written.append(name)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield written
    finally:
        stop.set()
        thread.join()
