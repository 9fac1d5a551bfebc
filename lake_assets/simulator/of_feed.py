"""Which workload a feed's simulator sends."""

from collections.abc import Sequence

from lake_assets.errors import SettingsError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.simulator.fitness import FIELDS, FitnessEvents
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.workload import Workload


def workload_of(
    feed: Feed, endpoints: Endpoints, keys: Sequence[str] = (), *, seed: int = 0
) -> Workload:
    """Made-up events that a feed can read: protobuf of games, or JSON of fitness trackers.

    Args:
        feed: what they are for.
        endpoints: where the registry is, if the feed has one.
        keys: what they are routed by; by default the feed's keys.
        seed: the same one makes the same events.

    Raises:
        SettingsError: the feed reads nothing that is made up here, or there are no keys.
    """
    keys = keys or feed.keys
    if feed.payload.wrapped is not None:
        fact, step = "has no simulator", "Nothing is simulated in envelopes"
        raise SettingsError(f"feed {feed.feed!r}", fact, step)
    if feed.payload.protobuf is not None:
        return GameEvents(endpoints, _subject(feed), keys, seed=seed)
    declared = feed.payload.json_
    names = {column.name for column in declared.columns} if declared is not None else set()
    if declared is not None and (declared.infer or names >= {*FIELDS}):
        return FitnessEvents(keys, seed=seed)
    raise SettingsError(
        f"feed {feed.feed!r}",
        "has no simulator",
        f"Simulated are feeds of protobuf, and of JSON with the columns {', '.join(FIELDS)}",
    )


def _subject(feed: Feed) -> str:
    """The subject of what is made up; of several the first that is named."""
    several = feed.payload.subjects
    if several is None:
        return feed.payload.subject
    if not several.names:
        fact, step = f"reads {several.title}", "Name a subject: only such feeds are simulated"
        raise SettingsError(f"feed {feed.feed!r}", fact, step)
    return several.names[0]
