"""Which faults there are, by venue; and which of them `--quick` draws from."""

from collections.abc import Sequence

from faults.clock import clock_faults
from faults.disk import disk_faults
from faults.fault import Fault
from faults.network import network_faults
from faults.process_faults import Kill, Pause, process_faults
from faults.stack import Stack

_LINKS = ("broker", "registry", "store")


def faults_of(stack: Stack) -> list[Fault]:
    """All that a venue has parts for; some may be unavailable."""
    links = tuple(role for role in _LINKS if role in stack.proxy.roles)
    return [
        *process_faults(stack.roles),
        *network_faults(stack.proxy, links),
        *disk_faults(stack.disk),
        *clock_faults(stack.clock),
    ]


def quick_faults(stack: Stack) -> list[Fault]:
    """A handful: the streams die once, and all else is what they live through."""
    return [
        Kill("jvm"),
        Kill("python worker"),
        Pause("broker"),
        Kill("registry"),
        *network_faults(stack.proxy, ("broker",))[:1],
    ]


def skipped(faults: Sequence[Fault]) -> dict[str, str]:
    """Why some of them cannot be done here, by name."""
    return {fault.name: reason for fault in faults if (reason := fault.unavailable()) is not None}
