"""Connections to public addresses only: what a name means is looked at where it is connected to.

A look before that would be of another answer of the name server (DNS rebinding).
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import TypeAlias

import httpcore2

from lake_assets.errors import SinkError

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_IPV4 = 4

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""Addresses that have one of IPv4 in their last 32 bits, which a gateway connects to (RFC 6052)."""

_UNICAST = ipaddress.ip_network("2000::/3")
"""Where all of IPv6's addresses of the internet are. Beside it are those of a network's own
translators of IPv4 (RFC 8215, 2765), which Python takes for global ones, and what is not given to
anybody."""

_NOBODYS = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))
"""Addresses of protocols, former relays and documents: behind them is no API."""


def is_public(text: str) -> bool:
    """Whether an address is one of the open internet, also one of IPv4 within one of IPv6."""
    address: _Address = ipaddress.ip_address(text.partition("%")[0])
    inner = _inner(address)
    if inner is not None:
        return is_public(str(inner))
    if any(address in network for network in _NOBODYS) or address.is_multicast:
        return False
    return address.is_global and (address.version == _IPV4 or address in _UNICAST)


def _inner(address: _Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]


class PublicOnly(httpcore2.AsyncNetworkBackend):
    """Connects by names whose addresses are all public; by any if `allow_private`."""

    def __init__(self, *, allow_private: bool) -> None:
        """Nothing is connected yet."""
        self._allow_private = allow_private
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore2's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first of the host's addresses that answers.

        Raises:
            SinkError: one of them is not public.
            httpcore2.ConnectError: the host has none, or none answers.
        """
        addresses = await self._addresses(host, port)
        if not self._allow_private:
            _refuse_private(host, addresses)
        problem: Exception = httpcore2.ConnectError(f"{host} has no address")
        now = asyncio.get_running_loop().time
        ends_at = None if timeout is None else now() + timeout
        for number, address in enumerate(addresses):
            # One that never answers, as of a network without IPv6, leaves the others their time.
            left = len(addresses) - number
            share = None if ends_at is None else max(0.0, ends_at - now()) / left
            try:
                return await self._inner.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as failed:
                problem = failed
        raise problem

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore2's signature
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Refused: an address of the web is none of a file."""
        del timeout, socket_options
        raise httpcore2.ConnectError(path)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as problem:
            raise httpcore2.ConnectError(f"{host} cannot be resolved ({problem})") from problem
        return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _refuse_private(host: str, addresses: Iterable[str]) -> None:
    private = [address for address in addresses if not is_public(address)]
    if private:
        named = "" if private[0] == host else f", which is {private[0]}"
        raise SinkError(
            f"host {host}{named}",
            "has no public address, and one inside a network is not called by mistake",
            "Correct `url`, or set `allow_private: true` if that is meant",
        )
