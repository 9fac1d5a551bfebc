"""The check `no_rows_lost` on bronze: which offsets of its source a feed passed over.

The streams report it with bronze; "Execute" in the UI looks at the table `gaps` at once. Alerts
tell of lost rows by that table, so that they wait for no report.
"""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.defs.internals.asset_checks import evaluation
from lake_assets.defs.internals.materializations import latest_id
from lake_assets.defs.keys import bronze_key, identifier_of
from lake_assets.defs.lazy_imports import recorded_gaps
from lake_assets.defs.processes import note_process
from lake_assets.model.checks import Severity
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import NEW_FOR_S
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of

if TYPE_CHECKING:
    from lake_assets.logs.gaps import RecordedGap

_DESCRIPTION = (
    "Within a day no offset was passed over: of rows that the source deleted unread, or that a "
    "skipped batch lost. It warns where bronze refused rows, which are in quarantine. The "
    "table `gaps` has all ranges."
)

_SHOWN = 20
"""Ranges shown, the newest; the table has all."""


def check_key(settings: Settings, feed: Feed) -> dg.AssetCheckKey:
    """The check's key."""
    return dg.AssetCheckKey(bronze_key(settings, feed), "no_rows_lost")


def gap_check(settings: Settings, feed: Feed) -> dg.AssetChecksDefinition:
    """The check of a feed's bronze."""
    key, lake = check_key(settings, feed), lake_id(settings)

    @dg.multi_asset_check(
        name=f"{identifier_of(key.asset_key)}_{key.name}",
        specs=[dg.AssetCheckSpec(key.name, asset=key.asset_key, description=_DESCRIPTION)],
        can_subset=True,
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckEvaluation]:
        note_process(context.instance, context.run.run_id, lake)
        yield gap_evaluation(settings, feed, context.instance, context.run.run_id)

    return check


def gap_evaluation(
    settings: Settings, feed: Feed, instance: dg.DagsterInstance, run_id: str
) -> dg.AssetCheckEvaluation:
    """The check's result by what the table has now, on bronze's latest materialization.

    Raises:
        LakeError: the table cannot be read.
    """
    key, found = check_key(settings, feed), recorded_gaps(lake_of(settings), feed.feed)
    return evaluation(
        check=key,
        partition=None,
        run_id=run_id,
        storage_id=latest_id(instance, key.asset_key),
        severity=severity(found, time.time()),
        metadata=_metadata(found),
    )


def severity(found: Sequence["RecordedGap"], utc_now: float) -> Severity | None:
    """How bad it is what was passed over; None if none of it is new.

    Args:
        found: all that was.
        utc_now: seconds since 1970.
    """
    new = [one.gap for one in found if utc_now - one.at.timestamp() < NEW_FOR_S]
    if any(gap.is_loss for gap in new):
        return Severity.ERROR
    return Severity.WARN if new else None


def _metadata(found: Sequence["RecordedGap"]) -> dict[str, dg.MetadataValue]:
    def offsets(*, is_loss: bool) -> dg.MetadataValue:
        gaps = [one.gap for one in found if one.gap.is_loss is is_loss]
        return dg.MetadataValue.int(sum(gap.offset_to - gap.offset_from for gap in gaps))

    newest = sorted(found, key=lambda one: (one.at, one.gap), reverse=True)[:_SHOWN]
    shown = {} if not newest else {"newest": dg.MetadataValue.md(_table(newest))}
    return {
        "offsets_lost": offsets(is_loss=True),
        "offsets_in_quarantine": offsets(is_loss=False),
        "ranges": dg.MetadataValue.int(len(found)),
        **shown,
    }


def _table(gaps: Sequence["RecordedGap"]) -> str:
    rows = [
        f"| {one.at:%Y-%m-%d %H:%M:%S} | `{one.gap.source}` | {one.gap.partition} | "
        f"{one.gap.offset_from} | {one.gap.offset_to - 1} | {one.gap.reason} |"
        for one in gaps
    ]
    head = (
        "| noticed (UTC) | source | partition | from | to | reason |\n|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(rows)
