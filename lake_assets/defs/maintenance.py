"""Maintenance: an asset a feed, materialized on a schedule; an event each time something was done.

Not partitioned: a partition's event for each key and run would be most of what Dagster stores. One
key is maintained by the run's configuration.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from lake_assets.defs.grouping import AssetLayer, of_feed
from lake_assets.defs.keys import maintenance_key, named
from lake_assets.defs.lake_scope import is_under_way, lake_tags
from lake_assets.defs.lazy_imports import maintain
from lake_assets.defs.processes import note_process
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id

if TYPE_CHECKING:
    from lake_assets.maintenance.table_upkeep import TableUpkeep

NAME = "maintain"

_MOST_SHOWN = 50
"""Tables in an event's metadata; a feed may have thousands."""


class MaintenanceConfig(dg.Config):
    """The form of the launchpad."""

    keys: list[str] = Field(
        default_factory=list, description="Only silver and gold of these keys; all if empty."
    )


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """Of each feed an asset; of all together one job and one schedule: a run is a process."""
    lake = lake_id(settings)
    job = dg.define_asset_job(
        named(settings, NAME),
        selection=dg.AssetSelection.assets(*(maintenance_key(settings, feed) for feed in feeds)),
        description="Joins small files, deletes unused ones and shortens logs.",
        tags={**lake_tags(lake), "dagster/max_runtime": "7200"},
        executor_def=dg.in_process_executor,
    )
    return dg.Definitions(
        assets=[_asset(settings, feed) for feed in feeds],
        jobs=[job],
        schedules=[_schedule(settings, lake)],
    )


def _asset(settings: Settings, feed: Feed) -> dg.AssetsDefinition:
    lake, key = lake_id(settings), maintenance_key(settings, feed)

    @dg.multi_asset(
        name=named(settings, f"maintain_tables_of_{feed.feed}"),
        specs=[
            dg.AssetSpec(
                key,
                skippable=True,
                **of_feed(settings, feed, AssetLayer.MAINTENANCE),
                description=(
                    "Small files joined, old rows and files that no version needs deleted, and "
                    "logs shortened, beside the streams. No event where there was nothing to do."
                ),
                kinds={"delta"},
            )
        ],
    )
    def run_maintenance(
        context: dg.AssetExecutionContext, config: MaintenanceConfig
    ) -> Iterator[dg.MaterializeResult]:
        note_process(context.instance, context.run.run_id, lake)
        done = maintain(settings, feed, keys=config.keys or None)
        for upkeep in done:
            for note in upkeep.notes:
                context.log.info("%s: %s", upkeep.table.name, note)
        busy = [upkeep for upkeep in done if upkeep.is_busy]
        if busy:
            yield dg.MaterializeResult(asset_key=key, metadata=_metadata(busy))

    return run_maintenance


def _metadata(busy: Sequence["TableUpkeep"]) -> dict[str, dg.MetadataValue]:
    columns = ("joined", "into", "old_rows", "deleted", "deleted_bytes", "log_files")
    shown = sorted(busy, key=lambda upkeep: -(upkeep.joined + upkeep.deleted))[:_MOST_SHOWN]
    return {
        "tables": dg.MetadataValue.int(len(busy)),
        "files_joined": dg.MetadataValue.int(sum(u.joined for u in busy)),
        "old_rows": dg.MetadataValue.int(sum(u.old_rows for u in busy)),
        "files_deleted": dg.MetadataValue.int(sum(u.deleted for u in busy)),
        "bytes_freed": dg.MetadataValue.int(sum(u.deleted_bytes for u in busy)),
        "log_files_deleted": dg.MetadataValue.int(sum(u.log_files for u in busy)),
        "by_table": dg.MetadataValue.table(
            [
                dg.TableRecord(
                    {"table": u.table.name, **{name: getattr(u, name) for name in columns}}
                )
                for u in shown
            ]
        ),
    }


def _schedule(settings: Settings, lake: str) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=named(settings, f"{NAME}_schedule"),
        cron_schedule=settings.maintenance.schedule,
        job_name=named(settings, NAME),
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Maintains all tables, unless the last run is still at it.",
    )
    def maintain_tables(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if is_under_way(context.instance, lake, named(settings, NAME)):
            return dg.SkipReason("The last run is still under way")
        return dg.RunRequest()

    return maintain_tables
