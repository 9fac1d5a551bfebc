"""Faults of what goes between the streams and broker, registry or store.

All are done by `toxic_proxy`, through which the streams must be led. A client of Kafka goes where
the broker says that it listens, so the broker needs a second listener that names the proxy:
`broker_behind` is the embedded broker with one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

from faults.fault import Fault
from faults.system import System
from faults.toxic_proxy import Address, Toxicity, ToxicProxy
from lake_assets.runtime.java import Java
from lake_assets.services.kafka import BROKER
from lake_assets.services.service import LOOPBACK, Ports, Service

_DELAY_S = (0.05, 1.5)
"""Below, nothing is seen beside a batch's own time; above, requests run into their own limits, and
the fault is a blackhole."""

_BYTES_PER_S = (16_000, 256_000)
"""Of half of the cut links; the load of the suite needs more."""

_CUT_CHANCE = (0.02, 0.3)
"""Of a piece. A request and its answer are two: at 0.3 every second exchange fails, and below 0.02
some connections would live through the fault."""


class _NetworkFault(ABC):
    """A fault of one link of a proxy."""

    _what: str

    def __init__(self, proxy: ToxicProxy, role: str) -> None:
        self._proxy = proxy
        self._role = role
        self.name = f"{self._what} of the {role}"

    def unavailable(self) -> str | None:
        """Why it cannot be done here."""
        if self._role in self._proxy.roles:
            return None
        return f"nothing goes through the proxy to a {self._role} here"

    @contextmanager
    def inject(self, system: System, random: Random) -> Iterator[str]:
        """Treat the link badly until the end of the block; then its traffic goes on."""
        cut_before = self._proxy.cut(self._role)
        try:
            yield self._begin(random)
        finally:
            self._proxy.set(self._role, Toxicity())
            cut = self._proxy.cut(self._role) - cut_before
            if cut:
                system.log(f"{cut} connections of the {self._role} were cut in a message")

    @abstractmethod
    def _begin(self, random: Random) -> str:
        """Begin, and say what was done."""


class DroppedConnections(_NetworkFault):
    """All connections are reset, and new ones refused."""

    _what = "dropped connections"

    def _begin(self, random: Random) -> str:
        del random
        self._proxy.set(self._role, Toxicity(refuses=True))
        dropped = self._proxy.drop(self._role)
        return f"reset {dropped} connections of the {self._role}, and refuse new ones"


class DelayedTraffic(_NetworkFault):
    """Everything takes longer, each time another while."""

    _what = "delayed traffic"

    def _begin(self, random: Random) -> str:
        delay_s = random.uniform(*_DELAY_S)
        toxicity = Toxicity(delay_s=delay_s, jitter_s=delay_s)
        self._proxy.set(self._role, toxicity)
        span = f"{delay_s:.2f} to {2 * delay_s:.2f} s"
        return f"delay each piece of the {self._role}'s traffic by {span}"


class CutMessages(_NetworkFault):
    """Connections end in the middle of a message, half the time those of a narrow line."""

    _what = "cut messages"

    def _begin(self, random: Random) -> str:
        chance = random.uniform(*_CUT_CHANCE)
        rate = random.choice((None, random.uniform(*_BYTES_PER_S)))
        self._proxy.set(self._role, Toxicity(cut_chance=chance, bytes_per_s=rate))
        line = "" if rate is None else f", over a line of {rate / 1000:.0f} kB/s"
        return f"cut {chance:.0%} of the {self._role}'s messages in their middle{line}"


class Blackhole(_NetworkFault):
    """Connections are accepted and stay open, and nothing comes through."""

    _what = "blackhole"

    def _begin(self, random: Random) -> str:
        del random
        self._proxy.set(self._role, Toxicity(silent=True))
        return f"let nothing through to the {self._role} or back, and close no connection"


def network_faults(proxy: ToxicProxy, roles: tuple[str, ...]) -> list[Fault]:
    """Each kind for each role."""
    kinds = (DroppedConnections, DelayedTraffic, CutMessages, Blackhole)
    return [kind(proxy, role) for role in roles for kind in kinds]


def broker_behind(link: Address) -> Service:
    """The embedded broker with a third port, to which the proxy leads.

    Who comes through that port is told that the broker listens at `link`; who comes to the first
    port, such as the load of the suite, is told of the first port.
    """

    def prepare(folder: Path, java: Java, jars: tuple[Path, ...], ports: Ports) -> list[str]:
        *own, proxied = ports
        command = BROKER.prepare(folder, java, jars, tuple(own))
        properties = folder / "server.properties"
        properties.write_text(_with_listener(properties.read_text(), proxied, link))
        return command

    return replace(BROKER, ports=BROKER.ports + 1, prepare=prepare)


def _with_listener(properties: str, port: int, link: Address) -> str:
    host, link_port = link
    more = {
        "listeners": f"PROXIED://{LOOPBACK}:{port}",
        "advertised.listeners": f"PROXIED://{host}:{link_port}",
        "listener.security.protocol.map": "PROXIED:PLAINTEXT",
    }
    lines = []
    for line in properties.splitlines():
        name = line.partition("=")[0]
        lines.append(f"{line},{more.pop(name)}" if name in more else line)
    if more:
        raise LookupError(f"server.properties of the embedded broker has no {', '.join(more)}")
    return "\n".join(lines) + "\n"
