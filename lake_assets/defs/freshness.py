"""When Dagster shows bronze and silver as stale, and what keeps an idle feed from being it.

For a freshness policy of Dagster only materializations count, and a topic where nobody sends brings
none. So while a feed's stream is well and has all that its source has, that is told as one, without
a row and, of silver, without a partition: nothing that follows partitions is set off by it.
"""

from collections.abc import Sequence
from datetime import timedelta

import dagster as dg

from lake_assets.defs.metadata import COLUMNS_DIGEST, VERSION
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings

NOTHING_NEW = "nothing_new"
"""Metadata of a materialization that brings no row."""

_KEPT = (
    "dagster/row_count",
    "dagster/table_name",
    "path",
    VERSION,
    COLUMNS_DIGEST,
    "committed_at",
    "files",
    "size_bytes",
)
"""What of the materialization before is as true of one that brings nothing."""

_RENEWED_AT = 0.75
"""Share of the time to a warning after which an idle feed is told of: what is told a minute late
still comes in time."""


def freshness_policy(settings: Settings, feeds: Sequence[Feed]) -> dg.FreshnessPolicy | None:
    """The policy of an asset that these feeds fill: the shortest that one of them asks for."""
    within = fresh_within(settings, feeds)
    if within is None:
        return None
    return dg.FreshnessPolicy.time_window(fail_window=within, warn_window=within / 2)


def fresh_within(settings: Settings, feeds: Sequence[Feed]) -> timedelta | None:
    """After how long without news such an asset is stale; None if never."""
    default_s = settings.dagster.fresh_within_s
    found = (feed.fresh_within(default_s, is_streamed=not feed.is_triggered) for feed in feeds)
    return min((within for within in found if within is not None), default=None)


def renewed(
    instance: dg.DagsterInstance, asset: dg.AssetKey, within: timedelta, utc_now: float
) -> dg.AssetMaterialization | None:
    """What tells that an idle asset is fresh, if it is time; None of one that has nothing yet."""
    last = instance.get_latest_materialization_event(asset)
    event = last.asset_materialization if last else None
    if last is None or event is None:
        return None
    due_s = within.total_seconds() / 2 * _RENEWED_AT
    if utc_now - last.timestamp < due_s:
        return None
    of_all = event.metadata if event.partition is None else {}
    return dg.AssetMaterialization(
        asset,
        description="Its source has nothing new: all that was sent is here.",
        metadata={
            **{name: of_all[name] for name in _KEPT if name in of_all},
            NOTHING_NEW: dg.MetadataValue.bool(value=True),
            "rows_added": dg.MetadataValue.int(0),
            "lag_rows": dg.MetadataValue.int(0),
            "lag_seconds": dg.MetadataValue.float(0.0),
        },
    )
