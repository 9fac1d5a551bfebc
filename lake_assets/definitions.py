"""What Dagster loads: reads settings and feeds once, and puts the rooms of `defs` together."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

import dagster as dg

from lake_assets.defs import (
    alerts,
    backup,
    bronze,
    catalog,
    checks,
    erasure,
    external,
    first_gold,
    gold,
    maintenance,
    observer,
    purge,
    reprocess,
    silver,
    sinks,
    sources,
    stream_stops,
    streams,
    supervision,
    triggered,
)
from lake_assets.defs.keys import ensure_unique
from lake_assets.defs.lake_resource import resources
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.settings.load import load_settings, unknown_variables
from lake_assets.settings.schema import Settings

_LOG = logging.getLogger(__name__)

Room = Callable[[Settings, Sequence[Feed]], dg.Definitions]

_OF_A_FEED: Sequence[Room] = (
    bronze.build,
    silver.build,
    gold.build,
    first_gold.build,
    checks.build,
    external.build,
    sinks.build,
)

PARTS: Mapping[str, Sequence[Room]] = {
    "assets": (sources.build, *_OF_A_FEED),
    "streams": (
        streams.build,
        stream_stops.build,
        observer.build,
        triggered.build,
        supervision.build,
    ),
    "alerts": (alerts.build,),
    "rebuild": (reprocess.build,),
    "maintenance": (maintenance.build,),
    "backup": (backup.build,),
    "erasures": (erasure.build,),
    "catalog": (catalog.build,),
    "purge": (purge.build,),
}
"""By the word that includes them, the rooms of `defs`."""


def assemble(
    settings: Settings, feeds: Sequence[Feed], *, include: Collection[str] = PARTS
) -> dg.Definitions:
    """Dagster's view of a lake, with an executor for each job and none for the location.

    Args:
        settings: of the lake.
        feeds: all that it has.
        include: keys of `PARTS`.

    Raises:
        FeedError: two feeds would share an asset.
    """
    rooms = [room for word, some in PARTS.items() if word in include for room in some]
    return _merged(settings, feeds, rooms)


def assemble_apart(
    settings: Settings, feeds: Sequence[Feed], *, include: Collection[str] = PARTS
) -> dg.Definitions:
    """As `assemble`, without what `assemble_feed` has of each feed."""
    rooms = [room for word, some in PARTS.items() if word in include for room in some]
    return _merged(settings, feeds, [room for room in rooms if room not in _OF_A_FEED])


def assemble_feed(settings: Settings, feeds: Sequence[Feed], feed: Feed) -> dg.Definitions:
    """One feed's tables, checks, sinks and schedules; `feeds` are all that the lake has."""
    return _merged(settings, feeds, _OF_A_FEED, of=[feed])


def _merged(
    settings: Settings,
    feeds: Sequence[Feed],
    rooms: Sequence[Room],
    of: Sequence[Feed] | None = None,
) -> dg.Definitions:
    ensure_unique(settings, feeds)
    # Made first, of all feeds: rooms that bring it must have the very same, or they do not merge.
    lake = dg.Definitions(resources=resources(settings, feeds))
    return dg.Definitions.merge(lake, *(room(settings, of or feeds) for room in rooms))


@dg.definitions
def defs() -> dg.Definitions:
    """What `dagster dev` and `dg` load."""
    settings = load_settings()
    for unknown in unknown_variables():
        _LOG.warning("%s", unknown)
    # Of runs by hand, whose job is Dagster's own: in a process a step, each would start a JVM.
    executor = dg.Definitions(executor=dg.in_process_executor)
    return dg.Definitions.merge(assemble(settings, load_feeds(settings.feeds)), executor)
