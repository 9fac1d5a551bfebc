"""A TCP proxy between streams and what they talk to, which on demand treats the traffic badly.

One proxy has a link for each role (broker, registry, store): it listens on a port of its own, and
leads to where the service really listens. What a link does to its traffic is a `Toxicity`, which
can change at any time. The faults that change it are in `network`.

It runs in a thread of the process that made it, over plain sockets: the least that cuts a
connection at a chosen byte. It knows no protocol; how a broker is put behind it is in `network`.
"""

import asyncio
import socket
import struct
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from threading import Thread
from typing import Any, Self, TypeVar

from lake_assets.services.service import LOOPBACK

Address = tuple[str, int]

_T = TypeVar("_T")

_PIECE_BYTES = 65_536
"""Read at once. A message of at most this size is mostly one piece, so half a piece is half a
message; larger ones are in their midst anyway."""

_BACKLOG = 128

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
"""Of SO_LINGER: what was not sent is thrown away, and the other side is told so (RST)."""

_DONE_WITHIN_S = 60.0
"""What is asked of the thread of the proxy, on a machine that is at its limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Toxicity:
    """What a link does to its traffic, both ways; by default nothing."""

    refuses: bool = False
    """New connections are refused, as by a machine on which nothing listens."""

    silent: bool = False
    """Connections are accepted, and nothing goes through until this ends."""

    delay_s: float = 0.0
    """Each piece waits so long, and up to `jitter_s` more. Pieces do not overtake each other, so a
    link gets slower by that, too."""

    jitter_s: float = 0.0

    bytes_per_s: float | None = None

    cut_chance: float = 0.0
    """Of each piece: half of it is sent, then the connection is closed."""


@dataclass(eq=False, slots=True)
class _Link:
    listener: socket.socket
    target: Address | None = None
    toxicity: Toxicity = field(default_factory=Toxicity)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    listens: bool = True
    connections: set[asyncio.Task[None]] = field(default_factory=set)
    cut: int = 0


class _CutError(OSError):
    """A connection ends here, in the middle of a message."""


class ToxicProxy:
    """Links by role, from `with` to its end."""

    def __init__(self, random: Random) -> None:
        """Draw jitter and cuts from `random`, which nothing else should use beside it."""
        self._random = random
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="toxic proxy", daemon=True)
        self._links: dict[str, _Link] = {}

    def __enter__(self) -> Self:
        """Begin; there is no link yet."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close all links and what goes through them."""
        for role in self._links:
            self._call(self._end(self._links[role]))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_DONE_WITHIN_S)
        self._loop.close()

    @property
    def roles(self) -> frozenset[str]:
        """Those that have a link."""
        return frozenset(self._links)

    def listen(self, role: str) -> Address:
        """Make a link and return its address; connections are reset until `lead` says whereto."""
        with socket.create_server((LOOPBACK, 0)) as free:
            address = free.getsockname()
        # By its number: a port that the system chose is let go when a socket listens no more.
        listener = socket.create_server(address, backlog=_BACKLOG)
        listener.settimeout(0)
        link = self._links[role] = _Link(listener)
        self._call(self._set(link, Toxicity()))
        host, port = address
        return host, port

    def lead(self, role: str, target: Address) -> None:
        """Let new connections of a link go to `target`."""
        self._links[role].target = target

    def set(self, role: str, toxicity: Toxicity) -> None:
        """Treat a link's traffic so from now on, that of open connections included."""
        self._call(self._set(self._links[role], toxicity))

    def drop(self, role: str) -> int:
        """Close a link's connections with a reset to both sides; return how many there were."""
        return self._call(self._drop(self._links[role]))

    def cut(self, role: str) -> int:
        """How many of a link's connections were cut in the middle of a message, ever."""
        return self._links[role].cut

    def _call(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_DONE_WITHIN_S)

    async def _set(self, link: _Link, toxicity: Toxicity) -> None:
        link.toxicity = toxicity
        if toxicity.silent:
            link.open.clear()
        else:
            link.open.set()
        if toxicity.refuses and link.listens:
            self._loop.remove_reader(link.listener)
            # Keeps the port, and listens no more; `listen` begins again.
            link.listener.shutdown(socket.SHUT_RDWR)
        elif not toxicity.refuses:
            link.listener.listen(_BACKLOG)
            self._loop.add_reader(link.listener, self._accept, link)
        link.listens = not toxicity.refuses

    async def _drop(self, link: _Link) -> int:
        connections = list(link.connections)
        await _cancelled(*connections)
        return len(connections)

    async def _end(self, link: _Link) -> None:
        self._loop.remove_reader(link.listener)
        await self._drop(link)
        link.listener.close()

    def _accept(self, link: _Link) -> None:
        try:
            client, _ = link.listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # it gave up meanwhile
            return
        client.settimeout(0)
        connection = self._loop.create_task(self._serve(link, client))
        link.connections.add(connection)
        connection.add_done_callback(link.connections.discard)

    async def _serve(self, link: _Link, client: socket.socket) -> None:
        with client, socket.socket() as server:
            server.settimeout(0)
            try:
                await link.open.wait()
                if link.target is None:
                    raise ConnectionResetError
                await self._loop.sock_connect(server, link.target)
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await self._both_ways(link, client, server)
            except _CutError:
                link.cut += 1
            except (OSError, asyncio.CancelledError):
                for end in (client, server):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)

    async def _both_ways(self, link: _Link, client: socket.socket, server: socket.socket) -> None:
        ways = [
            self._loop.create_task(self._pump(link, client, server)),
            self._loop.create_task(self._pump(link, server, client)),
        ]
        try:
            await asyncio.gather(*ways)
        finally:
            await _cancelled(*ways)

    async def _pump(self, link: _Link, source: socket.socket, sink: socket.socket) -> None:
        while piece := await self._loop.sock_recv(source, _PIECE_BYTES):
            await link.open.wait()
            now = link.toxicity
            if now.cut_chance > self._random.random():
                await self._loop.sock_sendall(sink, piece[: len(piece) // 2])
                raise _CutError
            delay_s = now.delay_s + self._random.uniform(0, now.jitter_s)
            if now.bytes_per_s is not None:
                delay_s += len(piece) / now.bytes_per_s
            if delay_s:
                await asyncio.sleep(delay_s)
            await self._loop.sock_sendall(sink, piece)
        await link.open.wait()
        with suppress(OSError):  # the other side may be gone by now
            sink.shutdown(socket.SHUT_WR)


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
