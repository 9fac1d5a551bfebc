"""The doctor's look at subjects: which of a feed's several there are in the user's registry."""

from collections.abc import Iterator, Sequence

from lake_assets.errors import FeedError, RegistryError
from lake_assets.feeds.load import load_feeds
from lake_assets.formats.confluent.registry_client import subjects_at
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.subjects import Subjects
from lake_assets.services.finding import Finding, Health
from lake_assets.settings.schema import Settings

_SHOWN = 5
"""Of those that a pattern finds; there may be hundreds."""


def look_at_subjects(settings: Settings, mine: Endpoints, *, timeout_s: float) -> Iterator[Finding]:
    """Which subjects of feeds that have several are registered now; none are waited for.

    Args:
        settings: where feeds are; nothing is told where they cannot be read.
        mine: the user's registry.
        timeout_s: seconds for its answer.
    """
    try:
        feeds = load_feeds(settings.feeds)
    except FeedError:
        return  # said of the feeds where they are looked at
    several = [feed.payload.subjects for feed in feeds if feed.payload.subjects is not None]
    if not several:
        return
    try:
        there = subjects_at(mine.registry, mine.registry_access, timeout_s=timeout_s)
    except RegistryError as problem:
        for one in several:
            fact, fix = problem.fact, problem.next_step
            yield Finding(thing=one.title, health=Health.BROKEN, fact=fact, fix=fix)
        return
    for one in several:
        yield found_of(one, there)


def found_of(subjects: Subjects, there: Sequence[str]) -> Finding:
    """What there is to tell of a feed's subjects.

    Args:
        subjects: that it reads.
        there: all that are registered.
    """
    found = sorted(filter(subjects.takes, there))
    missing = [name for name in subjects.names if name not in found]
    shown = ", ".join(found[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
    fact = f"{len(found)} ({shown})" if found else "none yet"
    if missing and found:
        fact += f"; not yet: {', '.join(missing)}"
    if found and not missing:
        return Finding(thing=subjects.title, health=Health.OK, fact=fact)
    fix = "Register it, or correct the feed's subjects; rows of it are taken from then on"
    return Finding(thing=subjects.title, health=Health.LATER, fact=fact, fix=fix)
