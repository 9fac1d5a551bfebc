"""Makes S3Proxy far away: passes bytes on to it after a time, in a process of its own.

`python -m benchmarks.far_away FILE PORT LATENCY_S` listens at a port that it writes into FILE. What
goes to the server waits; its answers do not, so that each request takes so much longer. S3Proxy
looks whether a file is there, and then puts it: here writes come to it one by one, and whole: it
hangs up on who still sends what it refuses, and its answer may be lost by that. Over a folder it
leaves out of a list what comes after a file that is being put or deleted: with a further argument,
`lists`, lists and deletions come to it one by one with the writes, as well.
"""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

_BYTES = 64 * 1024
"""Passed on at once."""

_WRITE = re.compile(rb"PUT ")

_WRITE_OR_LIST = re.compile(rb"PUT |POST |DELETE |GET [^ ]*[?&](list-type|delimiter|prefix)=")


class _Connection:
    """One client's connection, which has one request at a time."""

    def __init__(
        self, latency_s: float, writing: asyncio.Lock, comes_alone: re.Pattern[bytes]
    ) -> None:
        self._latency_s, self._writing, self._comes_alone = latency_s, writing, comes_alone
        self._answered = asyncio.Event()
        self._answered.set()
        self._is_over = False

    async def requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes, each piece as long after it came; end when either side does."""
        clock = asyncio.get_running_loop().time
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        receiving = asyncio.create_task(self._receive(reader, pieces))
        with suppress(ConnectionError):
            while True:
                due, piece = await pieces.get()
                await asyncio.sleep(max(0.0, due - clock()))
                if self._comes_alone.match(piece):
                    piece = await _whole(piece, pieces.get)
                    if piece:
                        await self._writing.acquire()
                        self._answered.clear()
                if not piece or self._is_over:
                    break
                writer.write(piece)
                await writer.drain()
        receiving.cancel()
        if self._is_over:
            self.is_answered()
        # Who has hung up has begun a write all the same.
        await self._answered.wait()
        writer.close()

    async def _receive(
        self, reader: asyncio.StreamReader, pieces: "asyncio.Queue[tuple[float, bytes]]"
    ) -> None:
        piece = b"not yet"
        while piece:
            try:
                piece = await reader.read(_BYTES)
            except ConnectionError:
                piece = b""
            pieces.put_nowait((asyncio.get_running_loop().time() + self._latency_s, piece))

    async def answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes at once."""
        with suppress(ConnectionError):
            while piece := await reader.read(_BYTES):
                self.is_answered()
                # Whoever has hung up hears nothing, and another may still be writing.
                with suppress(ConnectionError):
                    writer.write(piece)
                    await writer.drain()
        self._is_over = True
        self.is_answered()
        writer.close()

    def is_answered(self) -> None:
        """Let the next write in."""
        if not self._answered.is_set():
            self._answered.set()
            self._writing.release()


async def _whole(piece: bytes, following: Callable[[], Awaitable[tuple[float, bytes]]]) -> bytes:
    """A request that begins with a piece, and is as long as its headers say; empty if it is cut."""
    while (head_and_body := piece.partition(b"\r\n\r\n"))[1] == b"" or _is_cut(*head_and_body):
        _, more = await following()
        if not more:
            return b""
        piece += more
    return piece


def _is_cut(head: bytes, _: bytes, body: bytes) -> bool:
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return length is not None and len(body) < int(length[1])


async def _serve(file: Path, port: int, latency_s: float, more: str = "") -> None:
    writing = asyncio.Lock()
    comes_alone = _WRITE_OR_LIST if more == "lists" else _WRITE

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        made = _Connection(latency_s, writing, comes_alone)
        await asyncio.gather(made.requests(reader, to_server), made.answers(from_server, writer))

    server = await asyncio.start_server(connect, "127.0.0.1", 0, backlog=1024)
    staged = file.with_suffix(".new")
    staged.write_text(str(server.sockets[0].getsockname()[1]))
    staged.replace(file)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:]))
