"""What the doctor tells of a thing that was looked at."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from lake_assets.errors import (
    CatalogError,
    FeedError,
    LakeError,
    RegistryError,
    RuntimeSetupError,
    SettingsError,
    SourceError,
    SourceNotFoundError,
)


class Health(StrEnum):
    """How a thing is."""

    OK = "ok"
    LATER = "later"  # not there yet; comes by itself or with a command
    BROKEN = "broken"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at."""

    thing: str
    health: Health
    fact: str
    fix: str = ""


Told: TypeAlias = (
    CatalogError
    | SettingsError
    | FeedError
    | SourceError
    | RegistryError
    | LakeError
    | RuntimeSetupError
)
"""Errors that name a fact and a next step, and may come of what is looked at."""


def broken(thing: str, problem: Told) -> Finding:
    """What an error says of a thing."""
    return Finding(thing=thing, health=Health.BROKEN, fact=problem.fact, fix=problem.next_step)


def unreadable(thing: str, problem: SettingsError | SourceError | LakeError) -> Finding:
    """What an error says of a source; one that is not there may come."""
    found = broken(thing, problem)
    is_later = isinstance(problem, SourceNotFoundError)
    return replace(found, health=Health.LATER) if is_later else found
