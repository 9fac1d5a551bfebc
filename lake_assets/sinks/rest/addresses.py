"""Connections to public addresses only: what a name means is looked at where it is connected to.

A look before that would be of another answer of the name server (DNS rebinding).
"""

import ipaddress
import socket
from collections.abc import Iterable
from typing import TypeAlias

from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

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


def _literal(host: str) -> str | None:
    """The address that a host is, also as C writes them: `0`, `127.1` or `2130706433`."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return str(ipaddress.ip_address(socket.inet_aton(host)))
    except (OSError, UnicodeError):
        return None


class PublicOnly(ThreadedResolver):
    """Resolves names whose addresses are all public; any if `allow_private`."""

    def __init__(self, *, allow_private: bool) -> None:
        """Of the event loop that runs."""
        super().__init__()
        self._allow_private = allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name, to be connected to now.

        Raises:
            SinkError: one of them is not public.
            OSError: the name has none.
        """
        try:
            found = await super().resolve(host, port, family)
        except UnicodeError as problem:
            raise OSError(str(problem)) from problem
        self._refuse_private(host, (one["host"] for one in found))
        return found

    def refuse_literal(self, host: str) -> None:
        """Judge a host that is an address and no name, which nobody resolves.

        Raises:
            SinkError: it is not public.
        """
        if not self._allow_private and (address := _literal(host)) is not None:
            self._refuse_private(host, [address])

    def _refuse_private(self, host: str, addresses: Iterable[str]) -> None:
        private = [one for one in addresses if not self._allow_private and not is_public(one)]
        if private:
            named = "" if private[0] == host else f", which is {private[0]}"
            raise SinkError(
                f"host {host}{named}",
                "has no public address, and one inside a network is not called by mistake",
                "Correct `url`, or set `allow_private: true` if that is meant",
            )
