"""The API that `rest-sinks` calls: answers each call after a time, in a process of its own.

`python -m benchmarks.rest_server FILE LATENCY_S`; writes its port into FILE.
"""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn

_ANSWER = b"{}"


def app(latency_s: float) -> Callable[..., Awaitable[None]]:
    """The application, as ASGI has it."""

    async def answer(
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        del scope
        while (await receive()).get("more_body"):
            pass
        await asyncio.sleep(latency_s)
        headers = [(b"content-length", str(len(_ANSWER)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": _ANSWER})

    return answer


def main(file: str, latency_s: str) -> None:
    """Serve until the process is ended."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    place = Path(file)
    staged = place.with_suffix(".new")
    staged.write_text(str(listening.getsockname()[1]))
    config = uvicorn.Config(
        app(float(latency_s)), log_level="warning", access_log=False, lifespan="off", backlog=1024
    )
    server = uvicorn.Server(config)
    listening.listen(1024)
    staged.replace(place)
    server.run(sockets=[listening])


if __name__ == "__main__":
    main(*sys.argv[1:])
