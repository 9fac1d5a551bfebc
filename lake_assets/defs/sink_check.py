"""The check `is_delivered` on a sink: whether rows wait for too long, or were refused lately.

"Execute" in the UI looks at once. Alerts tell of the same by the sink's table, not by the check.
"""

import time
from collections.abc import Iterator

import dagster as dg

from lake_assets.alerts.sink_problems import SinkSeen, judge_sinks
from lake_assets.defs.internals.asset_checks import evaluation
from lake_assets.defs.internals.materializations import latest_id
from lake_assets.defs.keys import identifier_of, sink_key
from lake_assets.defs.lazy_imports import sink_seen
from lake_assets.defs.processes import note_process
from lake_assets.model.alerts import AlertSeverity
from lake_assets.model.checks import Severity
from lake_assets.model.feeds import Feed
from lake_assets.model.sinks import Sink
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id

_DESCRIPTION = (
    "No row has waited for longer than `alerts.sink_behind_after_s`, and within a day "
    "none became a dead letter that still is one. It warns where rows wait while others go."
)


def sink_check_key(settings: Settings, feed: Feed, sink: Sink) -> dg.AssetCheckKey:
    """The check's key."""
    return dg.AssetCheckKey(sink_key(settings, feed, sink), "is_delivered")


def sink_check(settings: Settings, feed: Feed, sink: Sink) -> dg.AssetChecksDefinition:
    """The check of a sink."""
    key, lake = sink_check_key(settings, feed, sink), lake_id(settings)

    @dg.multi_asset_check(
        name=f"{identifier_of(key.asset_key)}_{key.name}",
        specs=[dg.AssetCheckSpec(key.name, asset=key.asset_key, description=_DESCRIPTION)],
        can_subset=True,
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckEvaluation]:
        note_process(context.instance, context.run.run_id, lake)
        seen = sink_seen(settings, feed, sink, time.time()) or SinkSeen()
        yield evaluation(
            check=key,
            partition=None,
            run_id=context.run.run_id,
            storage_id=latest_id(context.instance, key.asset_key),
            severity=severity(seen, time.time(), settings.alerts.sink_behind_after_s),
            metadata=_metadata(seen),
        )

    return check


def severity(seen: SinkSeen, utc_now: float, may_wait_s: float) -> Severity | None:
    """How bad it is how a sink stands; None if all is delivered in time."""
    found = {problem.severity for problem in judge_sinks({"": seen}, utc_now, may_wait_s)}
    if AlertSeverity.ERROR in found:
        return Severity.ERROR
    return Severity.WARN if found else None


def _metadata(seen: SinkSeen) -> dict[str, dg.MetadataValue]:
    told: dict[str, dg.MetadataValue] = {"dead_letters": dg.MetadataValue.int(seen.new_letters)}
    if seen.behind_since is not None:
        told["behind_since"] = dg.MetadataValue.timestamp(seen.behind_since)
    if seen.recorded_at:
        told["recorded_at"] = dg.MetadataValue.timestamp(seen.recorded_at)
    return told
