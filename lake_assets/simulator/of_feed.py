"""Which workload a feed's simulator sends."""

from collections.abc import Sequence

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.workload import Workload


def workload_of(
    feed: Feed, endpoints: Endpoints, keys: Sequence[str] = (), *, seed: int = 0
) -> Workload:
    """Made-up events that a feed can read.

    Args:
        feed: what they are for.
        endpoints: where the registry is, if the feed has one.
        keys: what they are routed by; by default the feed's keys.
        seed: the same one makes the same events.
    """
    keys = keys or feed.keys
    return GameEvents(endpoints, feed.payload.subject, keys, seed=seed)
