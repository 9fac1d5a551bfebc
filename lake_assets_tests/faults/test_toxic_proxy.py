import socket
import socketserver
import threading
import time
from random import Random

import pytest

from faults.toxic_proxy import Toxicity, ToxicProxy

MESSAGE = bytes(range(256)) * 100

MESSAGE_BYTES = len(MESSAGE)


class Echo(socketserver.BaseRequestHandler):
    """Sends back what comes."""

    server: "Server"

    def handle(self):
        data = b""
        try:
            while data := self.request.recv(65_536):
                self.request.sendall(data)
        except OSError:
            self.server.broken.append(data)


class Remembering(socketserver.BaseRequestHandler):
    """Keeps what comes and answers nothing."""

    server: "Server"

    def handle(self):
        while data := self.request.recv(65_536):
            self.server.got += data


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.broken = []
        self.got = b""


@pytest.fixture(scope="module")
def echo():
    with Server(Echo) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield server
        server.shutdown()


def seeded(seed):
    return Random(seed)  # noqa: S311 - faults are to come again


@pytest.fixture
def proxy():
    with ToxicProxy(seeded(1)) as one:
        yield one


@pytest.fixture
def address(proxy, echo):
    at = proxy.listen("broker")
    proxy.lead("broker", echo.server_address)
    return at


def read(client, size=MESSAGE_BYTES):
    got = b""
    while len(got) < size and (data := client.recv(65_536)):
        got += data
    return got


def connect(address, timeout_s=10):
    return socket.create_connection(address, timeout=timeout_s)


def test_by_itself_it_changes_nothing(address):
    with connect(address) as client:
        for _ in range(3):
            client.sendall(MESSAGE)
            assert read(client) == MESSAGE


def test_an_end_of_one_side_is_passed_on_and_what_is_under_way_arrives(address):
    with connect(address) as client:
        client.sendall(MESSAGE)
        client.shutdown(socket.SHUT_WR)
        assert read(client, size=10**9) == MESSAGE


def test_much_more_than_fits_into_buffers_goes_through(address):
    sent = MESSAGE * 400
    with connect(address) as client:
        threading.Thread(target=client.sendall, args=(sent,)).start()
        assert read(client, len(sent)) == sent


def test_dropped_connections_are_reset_on_both_sides(proxy, address, echo):
    with connect(address) as first, connect(address) as second:
        for client, said in ((first, b"1"), (second, b"2")):
            client.sendall(said)
            assert read(client, 1) == said
        assert proxy.drop("broker") == 2
        for client in (first, second):
            with pytest.raises(ConnectionResetError):
                client.recv(1)
    deadline = time.monotonic() + 30
    while not {b"1", b"2"} <= {*echo.broken} and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (echo.broken.count(b"1"), echo.broken.count(b"2")) == (1, 1)
    with connect(address) as third:
        third.sendall(b"a")
        assert read(third, 1) == b"a"


def test_new_connections_are_refused_until_they_are_not_and_the_port_stays(proxy, address):
    for _ in range(2):
        with connect(address) as before:
            before.sendall(b"a")
            assert read(before, 1) == b"a"
            proxy.set("broker", Toxicity(refuses=True))
            with pytest.raises(ConnectionRefusedError):
                connect(address)
            before.sendall(b"a")
            assert read(before, 1) == b"a"
        proxy.set("broker", Toxicity())
        with connect(address) as after:
            after.sendall(b"a")
            assert read(after, 1) == b"a"


def test_a_message_is_cut_in_its_middle_and_the_connection_ends(proxy, address):
    proxy.set("broker", Toxicity(cut_chance=1))
    with Server(Remembering) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        proxy.lead("broker", server.server_address)
        with connect(address) as client:
            client.sendall(MESSAGE[:1000])
            assert client.recv(1) == b""
        deadline = time.monotonic() + 30
        while len(server.got) < 500 and time.monotonic() < deadline:
            time.sleep(0.01)
        server.shutdown()
        assert server.got == MESSAGE[:500]
    assert proxy.cut("broker") == 1


def test_a_delay_delays_both_ways(proxy, address):
    with connect(address) as client:
        proxy.set("broker", Toxicity(delay_s=0.15, jitter_s=0.05))
        began = time.monotonic()
        client.sendall(b"a")
        assert read(client, 1) == b"a"
        assert 0.3 <= time.monotonic() - began < 30


def test_a_narrow_line_takes_its_time(proxy, address):
    with connect(address) as client:
        proxy.set("broker", Toxicity(bytes_per_s=100_000))
        began = time.monotonic()
        client.sendall(MESSAGE)
        assert read(client) == MESSAGE
        assert 0.5 <= time.monotonic() - began < 30


def test_a_blackhole_accepts_says_nothing_and_lets_all_through_when_it_ends(proxy, address):
    with connect(address) as before:
        proxy.set("broker", Toxicity(silent=True))
        with connect(address) as within:
            for client in (before, within):
                client.sendall(MESSAGE)
                client.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    client.recv(1)
            proxy.set("broker", Toxicity())
            for client in (before, within):
                client.settimeout(10)
                assert read(client) == MESSAGE


def test_a_link_whose_service_is_away_resets(proxy, address):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        proxy.lead("broker", nobody.getsockname())
        with pytest.raises(ConnectionResetError), connect(address) as client:
            client.recv(1)


def test_links_are_apart_and_end_with_the_proxy(echo):
    with ToxicProxy(seeded(1)) as proxy:
        broker, store = proxy.listen("broker"), proxy.listen("store")
        proxy.lead("broker", echo.server_address)
        proxy.lead("store", echo.server_address)
        proxy.set("store", Toxicity(refuses=True))
        client = connect(broker)
        client.sendall(b"a")
        assert read(client, 1) == b"a"
        with pytest.raises(ConnectionRefusedError):
            connect(store)
    with client, pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(broker)
