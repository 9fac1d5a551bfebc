"""Makes a server far away: passes bytes on to it after a time, in a process of its own.

`python -m benchmarks.far_away PORT LATENCY_S FILE` listens at a port that it writes into FILE. What
goes to the server waits; its answers do not, so that each request takes so much longer.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

_BYTES = 64 * 1024
"""Passed on at once."""


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, latency_s: float
) -> None:
    """Pass on what comes, each piece as long after it came; end when either side does."""
    clock = asyncio.get_running_loop().time
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        piece = b"not yet"
        while piece:
            try:
                piece = await reader.read(_BYTES)
            except ConnectionError:
                piece = b""
            pieces.put_nowait((clock() + latency_s, piece))

    async def write() -> None:
        while True:
            due, piece = await pieces.get()
            if (wait := due - clock()) > 0:
                await asyncio.sleep(wait)
            if not piece:
                return
            writer.write(piece)
            await writer.drain()

    reading = asyncio.create_task(read())
    with suppress(ConnectionError):
        await write()
    reading.cancel()
    writer.close()


def _connected(
    port: int, latency_s: float
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pass_on(reader, requests, latency_s), _pass_on(answers, writer, 0.0))

    return connect


async def _serve(port: int, latency_s: float, file: Path) -> None:
    server = await asyncio.start_server(_connected(port, latency_s), "127.0.0.1", 0, backlog=1024)
    staged = file.with_suffix(".new")
    staged.write_text(str(server.sockets[0].getsockname()[1]))
    staged.replace(file)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])))
