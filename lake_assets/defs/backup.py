"""Backups: one asset and its schedule, if the settings say where they go."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.defs.grouping import AssetLayer, of_lake
from lake_assets.defs.keys import backup_key, named
from lake_assets.defs.lake_scope import is_under_way, lake_tags
from lake_assets.defs.lazy_imports import back_up_on_schedule, target_of
from lake_assets.defs.processes import note_process
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.backup_notes import note_wanted
from lake_assets.state.lake_id import lake_id

if TYPE_CHECKING:
    from lake_assets.backup.scheduled import ScheduledBackup

NAME = "backup"

_MOST_SHOWN = 50
"""Tables in an event's metadata; a lake may have thousands."""


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:  # noqa: ARG001 - as others
    """The asset, its job and its schedule; nothing without a target."""
    if settings.backup.target is None:
        return dg.Definitions()
    lake = lake_id(settings)
    note_wanted(settings.state_dir, str(target_of(settings)), time.time())
    job = dg.define_asset_job(
        named(settings, NAME),
        selection=dg.AssetSelection.assets(backup_key(settings)),
        description="Copies the lake to where the settings say, beside all that runs.",
        tags={**lake_tags(lake), "dagster/max_runtime": "86400"},
        executor_def=dg.in_process_executor,
    )
    return dg.Definitions(
        assets=[_asset(settings, lake)], jobs=[job], schedules=[_schedule(settings, lake)]
    )


def _asset(settings: Settings, lake: str) -> dg.AssetsDefinition:
    # The job has the asset's name, which an op may not have then.
    @dg.multi_asset(
        name=named(settings, "back_up_lake"),
        specs=[
            dg.AssetSpec(
                backup_key(settings),
                **of_lake(settings, AssetLayer.MAINTENANCE),
                description=(
                    "All tables at versions that fit together, copied to the target of the "
                    "settings. `lake-assets restore` puts one back."
                ),
                kinds={"delta"},
            )
        ],
    )
    def back_up_lake(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        note_process(context.instance, context.run.run_id, lake)
        done = back_up_on_schedule(settings)
        for note in done.manifest.notes:
            context.log.warning("%s", note)
        return dg.MaterializeResult(
            asset_key=backup_key(settings), metadata=_metadata(settings, done)
        )

    return back_up_lake


def _metadata(settings: Settings, done: "ScheduledBackup") -> dict[str, dg.MetadataValue]:
    manifest, progress = done.manifest, done.progress
    largest = sorted(manifest.tables, key=lambda table: -table.size_bytes)[:_MOST_SHOWN]
    columns = ("table", "version", "rows", "files", "size_bytes")
    return {
        "backup": dg.MetadataValue.int(manifest.number),
        "made_at": dg.MetadataValue.timestamp(datetime.fromisoformat(manifest.made_at)),
        "seconds": dg.MetadataValue.float(round(done.seconds, 3)),
        "size_bytes": dg.MetadataValue.int(manifest.size_bytes),
        "copied_bytes": dg.MetadataValue.int(progress.copied_bytes),
        "copied_files": dg.MetadataValue.int(progress.copied_files),
        "tables": dg.MetadataValue.int(len(manifest.tables)),
        "target": dg.MetadataValue.text(str(target_of(settings))),
        "by_table": dg.MetadataValue.table(
            [dg.TableRecord({name: getattr(table, name) for name in columns}) for table in largest]
        ),
        **({"notes": dg.MetadataValue.md("\n\n".join(manifest.notes))} if manifest.notes else {}),
    }


def _schedule(settings: Settings, lake: str) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=named(settings, f"{NAME}_schedule"),
        cron_schedule=settings.backup.schedule,
        job_name=named(settings, NAME),
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Backs the lake up, unless the last run is still at it.",
    )
    def back_up_regularly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if is_under_way(context.instance, lake, named(settings, NAME)):
            return dg.SkipReason("The last run is still under way")
        return dg.RunRequest()

    return back_up_regularly
