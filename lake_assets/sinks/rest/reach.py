"""Whether an API can be reached: connected to, by a certificate that is checked. Sends nothing."""

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

import httpcore2
from pydantic import SecretStr

from lake_assets.errors import SinkError
from lake_assets.model.rest import Rest
from lake_assets.sinks.rest.addresses import PublicOnly
from lake_assets.sinks.rest.connection import tls_context
from lake_assets.sinks.rest.target import RestTarget

_PORTS = {"https": 443, "http": 80}


def ensure_reachable(rest: Rest, look_up: Callable[[str], SecretStr], *, within_s: float) -> None:
    """Connect to an API, and to its server of tokens, from this process.

    Args:
        rest: as it is declared.
        look_up: knows secrets by their variables.
        within_s: for each of them.

    Raises:
        SettingsError: a secret is not there.
        SinkError: one cannot be reached, or has no public address.
    """
    RestTarget(rest, look_up)  # raises what is wrong with secrets
    urls = [rest.url]
    if rest.auth and rest.auth.oauth:
        urls.append(rest.auth.oauth.token_url)
    for url in urls:
        asyncio.run(_connect(rest, url, within_s))


async def _connect(rest: Rest, url: str, within_s: float) -> None:
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    backend = PublicOnly(allow_private=rest.allow_private)
    try:
        async with asyncio.timeout(within_s):
            stream = await backend.connect_tcp(host, port, within_s)
            try:
                if parts.scheme == "https":
                    stream = await stream.start_tls(tls_context(rest.ca), host, within_s)
            finally:
                await stream.aclose()
    except TimeoutError as problem:
        raise _unreachable(url, f"does not answer within {within_s:g} s") from problem
    except (httpcore2.NetworkError, httpcore2.TimeoutException, OSError) as problem:
        raise _unreachable(url, f"cannot be connected to ({problem})") from problem


def _unreachable(url: str, fact: str) -> SinkError:
    return SinkError(f"{url}", fact, "Check the address, its server and the way to it")
