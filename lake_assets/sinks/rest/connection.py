"""One try of a request over a pool of connections: bounded in time, and in what is read."""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import httpcore2

from lake_assets.errors import SinkError

READ_BYTES = 64 * 1024
"""Of an answer, that are read: what is longer ends its connection, and its status counts."""

_PASSING = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError)

_KEEP_S = 30.0
"""Seconds that a connection without calls is kept; servers close theirs after 5 to 75."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back, or why nothing did."""

    status: int | None
    """None if nothing did that counts."""

    seconds: float
    headers: Mapping[str, str]
    """By names in lower case."""

    content: bytes = b""
    """Its first `READ_BYTES`."""

    problem: str = ""
    """Why there is no status, in words."""


class Connection:
    """Connections to an API; to be closed."""

    def __init__(
        self, backend: httpcore2.AsyncNetworkBackend, tls: ssl.SSLContext, most: int
    ) -> None:
        """Nothing is connected yet; `most` connections are open at a time."""
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=most,
            max_keepalive_connections=most,
            keepalive_expiry=_KEEP_S,
            network_backend=backend,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, within_s: float
    ) -> Answer:
        """Send one request, once.

        Raises:
            SinkError: its address may not be connected to.
        """
        began = monotonic()
        try:
            async with asyncio.timeout(within_s):
                status, got, content = await self._exchange(url, headers, body, within_s)
        except TimeoutError:
            return _nothing(began, f"no whole answer within {within_s:g} s")
        except _PASSING as problem:
            return _nothing(began, f"{type(problem).__name__}: {problem}".rstrip(": "))
        return Answer(status=status, seconds=monotonic() - began, headers=got, content=content)

    async def _exchange(
        self, url: str, headers: Mapping[str, str], body: bytes, within_s: float
    ) -> tuple[int, dict[str, str], bytes]:
        # What is left open by a cancelled try, only a time of its own ends.
        times = dict.fromkeys(("connect", "read", "write", "pool"), within_s)
        request = self._pool.stream(
            "POST", url, headers=list(headers.items()), content=body, extensions={"timeout": times}
        )
        async with request as response:
            content = b""
            async for piece in response.aiter_stream():
                content += piece
                if len(content) > READ_BYTES:
                    break
        pairs = ((name.lower(), value) for name, value in response.headers)
        got = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}
        return response.status, got, content[:READ_BYTES]


def _nothing(began: float, problem: str) -> Answer:
    return Answer(status=None, seconds=monotonic() - began, headers={}, problem=problem)


def tls_context(ca: Path | None) -> ssl.SSLContext:
    """What servers' certificates are checked by: the system's authorities, or those of a file.

    Raises:
        SinkError: the file cannot be read, or has none.
    """
    try:
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ssl.SSLError) as problem:
        fact = f"has no authorities that can be read ({problem.strerror or problem})"
        raise SinkError(f"ca: {ca}", fact, "Name a PEM file") from problem
