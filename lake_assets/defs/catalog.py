"""The catalogue: one asset that keeps it as the lake is, and its schedule, if there is one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.defs.grouping import AssetLayer, of_lake
from lake_assets.defs.keys import catalog_key, named
from lake_assets.defs.lake_scope import is_under_way, lake_tags
from lake_assets.defs.lazy_imports import sync
from lake_assets.defs.processes import note_process
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id

if TYPE_CHECKING:
    from lake_assets.catalog.sync import Synced

NAME = "catalog"

_MOST_SHOWN = 100
"""Actions in an event's metadata; a lake may have thousands of tables."""


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The asset, its job and its schedule; nothing without a catalogue."""
    if settings.catalog.kind is None:
        return dg.Definitions()
    lake = lake_id(settings)
    job = dg.define_asset_job(
        named(settings, NAME),
        selection=dg.AssetSelection.assets(catalog_key(settings)),
        description="Registers the lake's tables where the settings say, as they are now.",
        tags={**lake_tags(lake), "dagster/max_runtime": "3600"},
        executor_def=dg.in_process_executor,
    )
    return dg.Definitions(
        assets=[_asset(settings, feeds, lake)], jobs=[job], schedules=[_schedule(settings, lake)]
    )


def _asset(settings: Settings, feeds: Sequence[Feed], lake: str) -> dg.AssetsDefinition:
    # The job has the asset's name, which an op may not have then.
    @dg.multi_asset(
        name=named(settings, "register_tables"),
        specs=[
            dg.AssetSpec(
                catalog_key(settings),
                **of_lake(settings, AssetLayer.MAINTENANCE),
                description=(
                    "All tables as the catalogue of the settings has them: columns, places, and "
                    "what they come from. `lake-assets catalog` does the same by hand."
                ),
                kinds={str(settings.catalog.kind)},
            )
        ],
    )
    def register_tables(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        note_process(context.instance, context.run.run_id, lake)
        done = sync(settings, feeds)
        for conflict in done.conflicts:
            context.log.warning("%s; left alone", conflict)
        return dg.MaterializeResult(asset_key=catalog_key(settings), metadata=_metadata(done))

    return register_tables


def _metadata(done: "Synced") -> dict[str, dg.MetadataValue]:
    shown = [
        dg.TableRecord({"do": str(one.do), "name": one.name, "why": one.why})
        for one in done.actions[:_MOST_SHOWN]
    ]
    left = "\n\n".join(map(str, done.conflicts[:_MOST_SHOWN]))
    return {
        "catalog": dg.MetadataValue.text(done.catalog),
        "changed": dg.MetadataValue.int(len(done.actions)),
        "unchanged": dg.MetadataValue.int(done.unchanged),
        "grants_changed": dg.MetadataValue.int(len(done.grants)),
        "left_alone": dg.MetadataValue.int(len(done.conflicts)),
        **({"actions": dg.MetadataValue.table(shown)} if shown else {}),
        **({"conflicts": dg.MetadataValue.md(left)} if left else {}),
    }


def _schedule(settings: Settings, lake: str) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=named(settings, f"{NAME}_schedule"),
        cron_schedule=settings.catalog.schedule,
        job_name=named(settings, NAME),
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Brings the catalogue up to date, unless the last run is still at it.",
    )
    def register_regularly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if is_under_way(context.instance, lake, named(settings, NAME)):
            return dg.SkipReason("The last run is still under way")
        return dg.RunRequest()

    return register_regularly
