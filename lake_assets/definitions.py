"""What Dagster loads: reads settings and feeds once, and puts the rooms of `defs` together."""

import logging
from collections.abc import Sequence

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
    stream_stops,
    streams,
    supervision,
    triggered,
)
from lake_assets.defs.keys import ensure_unique
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.settings.load import load_settings, unknown_variables
from lake_assets.settings.schema import Settings

_LOG = logging.getLogger(__name__)

_ROOMS = (
    bronze,
    silver,
    gold,
    first_gold,
    checks,
    external,
    sinks,
    streams,
    stream_stops,
    observer,
    triggered,
    supervision,
    reprocess,
    alerts,
    maintenance,
    backup,
    erasure,
    catalog,
    purge,
)


def assemble(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """All of Dagster's view of a lake, with an executor for each job and none for the location.

    Raises:
        FeedError: two feeds would share an asset.
    """
    ensure_unique(settings, feeds)
    rooms = (room.build(settings, feeds) for room in _ROOMS)
    return dg.Definitions.merge(*rooms)


@dg.definitions
def defs() -> dg.Definitions:
    """What `dagster dev` and `dg` load."""
    settings = load_settings()
    for unknown in unknown_variables():
        _LOG.warning("%s", unknown)
    # Of runs by hand, whose job is Dagster's own: in a process a step, each would start a JVM.
    executor = dg.Definitions(executor=dg.in_process_executor)
    return dg.Definitions.merge(assemble(settings, load_feeds(settings.feeds)), executor)
