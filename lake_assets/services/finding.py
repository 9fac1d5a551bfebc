"""What the doctor tells of a thing that was looked at."""

from dataclasses import dataclass
from enum import StrEnum

from lake_assets.errors import FeedError, LakeError, RegistryError, SettingsError, SourceError


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


def broken(
    thing: str, problem: SettingsError | FeedError | SourceError | RegistryError | LakeError
) -> Finding:
    """What an error says of a thing."""
    return Finding(thing=thing, health=Health.BROKEN, fact=problem.fact, fix=problem.next_step)
