"""A broker as an older one: what it says of its versions is cut on the way to its clients.

They then speak to it as to a service that knows Kafka's protocol of some years ago, and all answers
are the real broker's. TLS ends nowhere in here.
"""

import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

from lake_assets.services.service import LOOPBACK

KAFKA_1_0 = {
    0: 5,  # Produce
    1: 6,  # Fetch
    2: 2,  # ListOffsets: no leader's epoch
    3: 5,  # Metadata: no id of a topic
    8: 3,  # OffsetCommit
    9: 3,  # OffsetFetch
    10: 1,  # FindCoordinator
    15: 1,  # DescribeGroups: no rights
    17: 1,  # SaslHandshake
    18: 3,  # ApiVersions, which the clients get along without
    19: 2,  # CreateTopics
    22: 0,  # InitProducerId
    36: 0,  # SaslAuthenticate
}
"""By number of a question, the highest version of its first release that Event Hubs promises to
speak; without those that it had no answer to for years (DescribeConfigs), and newer ones."""

_API_VERSIONS = 18

_FIRST_FLEXIBLE = 3
"""Version of the answer about versions that has lengths of variable size."""


@contextmanager
def as_older(port: int, broker: int, versions: Mapping[int, int]) -> Iterator[None]:
    """Serve a broker under another port, with these versions at most and no other questions."""

    class Connection(BaseRequestHandler):
        """A client's."""

        def handle(self) -> None:
            """Pass on what it asks, and beside it what it is answered."""
            with socket.create_connection((LOOPBACK, broker)) as upstream:
                asked: dict[int, int] = {}
                back = Thread(target=_answers, args=(upstream, self.request, asked, versions))
                back.start()
                with suppress(OSError):
                    for frame in _frames(self.request):
                        kind, version, number = struct.unpack_from(">hhi", frame)
                        if kind == _API_VERSIONS:
                            asked[number] = version
                        upstream.sendall(struct.pack(">i", len(frame)) + frame)
                with suppress(OSError):
                    upstream.shutdown(socket.SHUT_RDWR)
                back.join()

    with ThreadingTCPServer((LOOPBACK, port), Connection) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def _answers(
    upstream: socket.socket,
    client: socket.socket,
    asked: dict[int, int],
    versions: Mapping[int, int],
) -> None:
    with suppress(OSError):
        for frame in _frames(upstream):
            (number,) = struct.unpack_from(">i", frame)
            answer = frame
            if number in asked:
                answer = frame[:4] + cut(frame[4:], asked.pop(number), versions)
            client.sendall(struct.pack(">i", len(answer)) + answer)
    with suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)


def _frames(connection: socket.socket) -> Iterator[bytes]:
    while head := _exactly(connection, 4):
        yield _exactly(connection, struct.unpack(">i", head)[0])


def _exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes, or none at the end."""
    found = bytearray()
    while len(found) < size:
        piece = connection.recv(size - len(found))
        if not piece:
            return b""
        found += piece
    return bytes(found)


def cut(body: bytes, version: int, versions: Mapping[int, int]) -> bytes:
    """The answer about versions with no higher ones than these."""
    is_flexible = version >= _FIRST_FLEXIBLE
    count, start = (body[2] - 1, 3) if is_flexible else (*struct.unpack_from(">i", body, 2), 6)
    size = 7 if is_flexible else 6
    end = start + size * count
    entries = [struct.unpack_from(">hhh", body, at) for at in range(start, end, size)]
    kept = [
        struct.pack(">hhh", kind, low, min(high, versions[kind])) + b"\0" * is_flexible
        for kind, low, high in entries
        if kind in versions
    ]
    length = bytes([len(kept) + 1]) if is_flexible else struct.pack(">i", len(kept))
    return body[:2] + length + b"".join(kept) + body[end:]
