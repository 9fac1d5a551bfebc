"""One try of a request over a pool of connections: bounded in time, and in what is read."""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic

import aiohttp
from yarl import URL

from lake_assets.errors import SinkError
from lake_assets.sinks.rest.addresses import PublicOnly

READ_BYTES = 64 * 1024
"""Of an answer, that are read: what is longer ends its connection, and its status counts."""

_PASSING = (aiohttp.ClientError, OSError)

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

    def __init__(self, addresses: PublicOnly, tls: ssl.SSLContext, most: int) -> None:
        """Nothing is connected yet; `most` connections are open at a time, of this event loop."""
        self._addresses = addresses
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=tls,
                limit=most,
                keepalive_timeout=_KEEP_S,
                resolver=addresses,
                use_dns_cache=False,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

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
                status, got, content = await self._exchange(_parsed(url), headers, body)
        except TimeoutError:
            return _nothing(began, f"no whole answer within {within_s:g} s")
        except _PASSING as problem:
            return _nothing(began, f"{type(problem).__name__}: {problem}".rstrip(": "))
        return Answer(status=status, seconds=monotonic() - began, headers=got, content=content)

    async def _exchange(
        self, url: URL, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        self._addresses.refuse_literal(str(url.host))
        request = self._session.post(url, headers=headers, data=body, allow_redirects=False)
        async with request as response:
            content = b""
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > READ_BYTES:
                    response.close()
                    break
        got = {name.lower(): _readable(value) for name, value in response.headers.items()}
        return response.status, got, content[:READ_BYTES]


@cache
def _parsed(url: str) -> URL:
    """An address as it was declared, nothing in it quoted anew."""
    return URL(url, encoded=True)


def _readable(value: str) -> str:
    """A header's value, whose bytes are UTF-8 or not."""
    return value if value.isascii() else value.encode(errors="surrogateescape").decode("latin-1")


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
