"""What Dagster loads: reads settings and feeds once, and puts the rooms of `defs` together."""

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
    purge,
    reprocess,
    silver,
    sinks,
    streams,
    supervision,
    triggered,
)
from lake_assets.defs.keys import ensure_unique
from lake_assets.defs.lake_resource import resources
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings

Room = Callable[[Settings, Sequence[Feed]], dg.Definitions]

PARTS: Mapping[str, Sequence[Room]] = {
    "assets": (
        bronze.build,
        silver.build,
        gold.build,
        first_gold.build,
        checks.build,
        external.build,
        sinks.build,
    ),
    "streams": (streams.build, triggered.build, supervision.build),
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
    ensure_unique(settings, feeds)
    rooms = [room for word, some in PARTS.items() if word in include for room in some]
    # Made first: rooms that bring it along must have the very same, or they do not merge.
    lake = dg.Definitions(resources=resources(settings, feeds))
    return dg.Definitions.merge(lake, *(room(settings, feeds) for room in rooms))


@dg.definitions
def defs() -> dg.Definitions:
    """What `dagster dev` and `dg` load."""
    settings = load_settings()
    # Of runs by hand, whose job is Dagster's own: in a process a step, each would start a JVM.
    executor = dg.Definitions(executor=dg.in_process_executor)
    return dg.Definitions.merge(assemble(settings, load_feeds(settings.feeds)), executor)
