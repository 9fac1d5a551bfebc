"""Which checks alerts look at, and what one that failed says."""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from lake_assets.defs.gap_check import check_key
from lake_assets.defs.internals.asset_checks import declared_checks
from lake_assets.defs.keys import own_keys
from lake_assets.defs.sink_check import sink_check_key
from lake_assets.defs.stream_check import check_key as stream_check_key
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings

_DETAILS_AT_MOST = 200
"""Characters of a check's numbers in an alert."""


def watched_checks(
    context: dg.SensorEvaluationContext, settings: Settings, feeds: Sequence[Feed]
) -> list[dg.AssetCheckKey]:
    """The checks of the lake's assets, without those whose problems the lake itself tells of.

    A code location may have checks of others, too, who look after them themselves.
    """
    assets = {key for feed in feeds for key in own_keys(settings, feed)}
    of_feeds = (check_key, stream_check_key)
    by_lake = {key(settings, feed) for feed in feeds for key in of_feeds}
    by_lake |= {sink_check_key(settings, feed, sink) for feed in feeds for sink in feed.sinks}
    declared = (check for check in declared_checks(context) if check.asset_key in assets)
    return [check for check in declared if check not in by_lake]


def details(evaluation: dg.AssetCheckEvaluation) -> str:
    """Its numbers and words, as an alert has them."""
    facts = (
        f"{name.replace('_', ' ')}: {_shown(value)}"
        for name, value in evaluation.metadata.items()
        if isinstance(value.value, int | float | str)
    )
    return ", ".join(facts)[:_DETAILS_AT_MOST]


def _shown(value: dg.MetadataValue) -> str:
    if isinstance(value, dg.TimestampMetadataValue):
        return f"{datetime.fromtimestamp(value.value, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return str(value.value)
