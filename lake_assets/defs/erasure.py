"""Erasures: an asset with the audit, its job with a form, and its schedule.

The form takes a file, or the table of requests, and no values: Dagster keeps what is typed into
forms for as long as it keeps the run.
"""

from collections.abc import Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from lake_assets.defs.grouping import AssetLayer, of_lake
from lake_assets.defs.keys import erasures_key, named
from lake_assets.defs.lake_scope import is_under_way, lake_tags
from lake_assets.defs.lazy_imports import (
    Request,
    audit,
    erase,
    has_work,
    locate,
    prove_erased,
    values_in,
)
from lake_assets.defs.processes import note_process
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import ErasureError
from lake_assets.model import erasures
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id

if TYPE_CHECKING:
    from lake_assets.erasure.proof import Proof
    from lake_assets.erasure.run import Erased

NAME = "erase"

_MOST_SHOWN = 100
"""Erasures in an event's metadata; all are in the ledger (`lake-assets erase --list`)."""


class Later(Enum):
    """What becomes of later rows."""

    DROP = "drop"
    KEEP = "keep"


class ErasureConfig(dg.Config):
    """The form of the launchpad."""

    column: str = Field(
        default="",
        description="Which column of silver tells a person. Empty: what log/erasure_requests asks "
        "for, and what is not done yet.",
    )
    values_file: str = Field(
        default="",
        description="File with a value a line, on the machine of the code server. Values are not "
        "typed in here: Dagster would keep them.",
    )
    later: Later = Field(
        default=Later.DROP, description="What becomes of the person's rows that come from now on."
    )


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The asset, its job and its schedule."""
    lake = lake_id(settings)
    job = dg.define_asset_job(
        named(settings, NAME),
        selection=dg.AssetSelection.assets(erasures_key(settings)),
        description="Erases persons' rows from all tables and all their versions.",
        tags={**lake_tags(lake), "dagster/max_runtime": "86400"},
        executor_def=dg.in_process_executor,
    )
    return dg.Definitions(
        assets=[_asset(settings, feeds, lake)],
        jobs=[job],
        schedules=[_schedule(settings, feeds, lake)],
    )


def _asset(settings: Settings, feeds: Sequence[Feed], lake: str) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=named(settings, "erase_rows"),
        specs=[
            dg.AssetSpec(
                erasures_key(settings),
                **of_lake(settings, AssetLayer.MAINTENANCE),
                description=(
                    "Whose rows were erased, by keyed hashes, from which tables, and whether "
                    "that is done. The ledger is in the lake: `lake-assets erase --list`."
                ),
                kinds={"delta"},
            )
        ],
    )
    def erase_rows(
        context: dg.AssetExecutionContext, config: ErasureConfig
    ) -> dg.MaterializeResult:
        note_process(context.instance, context.run.run_id, lake)
        done = erase(
            settings,
            feeds,
            partial(locate, settings, feeds),
            _request(config),
            tell=context.log.info,
        )
        known = done.wanted
        proof = prove_erased(settings, feeds, done, known, context.log.info) if known else None
        for words in done.left:
            context.log.warning("not done yet: %s", words)
        metadata = {**_metadata(settings, done), **(_of_proof(proof) if proof else {})}
        return dg.MaterializeResult(asset_key=erasures_key(settings), metadata=metadata)

    return erase_rows


def _request(config: ErasureConfig) -> Request:
    if not config.column:
        if config.values_file:
            raise ErasureError("values_file", "is given, and no column", "Name the column as well")
        return Request(is_of_table=True, is_again=True)
    wanted = Wanted(column=config.column, values=values_in(Path(config.values_file)))
    return Request(wanted=[wanted], later=erasures.Later(config.later.value))


def _metadata(settings: Settings, done: "Erased") -> dict[str, dg.MetadataValue]:
    entries = audit(settings)[-_MOST_SHOWN:]
    columns = ("id", "requested_at", "column", "later", "state")
    return {
        "rows_erased": dg.MetadataValue.int(sum(done.taken.rows.values())),
        "tables": dg.MetadataValue.int(len(done.taken.rows)),
        "files_deleted": dg.MetadataValue.int(done.ended.files),
        "not_done": dg.MetadataValue.int(len(done.left)),
        "erasures": dg.MetadataValue.table(
            [
                dg.TableRecord(
                    {
                        **{name: one[name] for name in columns},
                        "rows": sum(one["rows"].values()),
                        "first_digest": one["digests"][0],
                    }
                )
                for one in entries
            ]
        ),
        **({"left": dg.MetadataValue.md("\n\n".join(done.left))} if done.left else {}),
    }


def _of_proof(proof: "Proof") -> dict[str, dg.MetadataValue]:
    found = [f"{one.digest[:12]} in {one.file}: {one.where}" for one in proof.scanned.findings]
    return {
        "found_by_proof": dg.MetadataValue.int(len(found)),
        "scanned": dg.MetadataValue.md("\n\n".join(proof.scanned.words)),
        **({"found": dg.MetadataValue.md("\n\n".join(found[:_MOST_SHOWN]))} if found else {}),
    }


def _schedule(settings: Settings, feeds: Sequence[Feed], lake: str) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=named(settings, f"{NAME}_schedule"),
        cron_schedule=settings.erasure.schedule,
        job_name=named(settings, NAME),
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Does what the table of requests asks for, and goes on with what is not done.",
    )
    def erase_requested(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if is_under_way(context.instance, lake, named(settings, NAME)):
            return dg.SkipReason("The last run is still under way")
        if not has_work(settings, feeds):
            return dg.SkipReason("Nobody asks for an erasure")
        return dg.RunRequest()

    return erase_requested
