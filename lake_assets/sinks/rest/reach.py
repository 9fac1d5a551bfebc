"""Whether an API can be reached: connected to, by a certificate that is checked. Sends nothing."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from pydantic import SecretStr

from lake_assets.errors import SinkError
from lake_assets.model.rest import Rest
from lake_assets.sinks.rest.addresses import PublicOnly
from lake_assets.sinks.rest.connection import tls_context
from lake_assets.sinks.rest.target import RestTarget

_NEXT_AFTER_S = 0.25
"""Seconds after which a host's next address is tried beside one that does not answer (RFC 8305)."""

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
    addresses = PublicOnly(allow_private=rest.allow_private)
    tls = tls_context(rest.ca) if parts.scheme == "https" else None
    try:
        async with asyncio.timeout(within_s):
            addresses.refuse_literal(host)
            await addresses.resolve(host, port)
            _, stream = await asyncio.open_connection(
                host, port, ssl=tls, happy_eyeballs_delay=_NEXT_AFTER_S
            )
            stream.close()
            with suppress(OSError):
                await stream.wait_closed()
    except TimeoutError as problem:
        raise _unreachable(url, f"does not answer within {within_s:g} s") from problem
    except OSError as problem:
        raise _unreachable(url, f"cannot be connected to ({problem})") from problem


def _unreachable(url: str, fact: str) -> SinkError:
    return SinkError(f"{url}", fact, "Check the address, its server and the way to it")
