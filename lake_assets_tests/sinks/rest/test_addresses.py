import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from lake_assets.sinks.rest.addresses import PublicOnly, is_public
from lake_assets.sinks.rest.connection import Connection, tls_context


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "172.16.5.4",
        "192.168.1.1",
        "127.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104 - none is bound
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "::127.0.0.1",
        "::ffff:0:10.0.0.1",
        "64:ff9b:1::a00:1",
        "fec0::1",
        "192.0.0.8",
        "3fff::1",
    ],
)
def test_addresses_inside_a_network_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_others_are(address):
    assert is_public(address)


def test_an_address_that_never_answers_leaves_the_next_its_time(monkeypatch):
    with (
        socket.create_server(("127.0.0.1", 0)) as answered,
        # Nobody accepts here, and no more than one may wait: a further one is never answered.
        socket.create_server(("127.0.0.2", answered.getsockname()[1]), backlog=0) as silent,
    ):
        port = silent.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)  # noqa: FBT003 - the standard library's
            one.connect_ex(("127.0.0.2", port))
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{n}", port)) for n in (2, 1)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

        async def connect():
            async with asyncio.timeout(4):
                connection = Connection(PublicOnly(allow_private=True), tls_context(None), 1)
                answer = await connection.post(f"http://both.example:{port}/", {}, b"", within_s=2)
                await connection.close()
            return answer

        answered.settimeout(4)
        with ThreadPoolExecutor(1) as other:
            accepted = other.submit(answered.accept)
            assert asyncio.run(connect()).status is None  # connected, and without an answer
            accepted.result()[0].close()
        for one in waiting:
            one.close()
