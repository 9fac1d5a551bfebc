"""What an embedded service is: how it starts and how one sees that it answers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lake_assets.runtime.jars import Group
from lake_assets.runtime.java import Java

Ports = tuple[int, ...]
"""The first is the one that clients use."""

Prepare = Callable[[Path, Java, tuple[Path, ...], Ports], list[str]]
"""Writes what the service needs into its folder; returns the command that runs it there."""

Answers = Callable[[int], bool]
"""Whether the service on this port of the loopback does its work; never raises."""

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A server that can be embedded."""

    name: str
    """What a user reads, and the name of the service's folder."""

    group: Group
    """The jars it is made of."""

    ports: int
    """How many ports it listens on."""

    prepare: Prepare
    answers: Answers
