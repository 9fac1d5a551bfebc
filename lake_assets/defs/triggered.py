"""Feeds that run on a schedule (`run`): a job that takes what is new and ends, and its schedule.

A plain op, as the streams' (`defs.streams`), with the same events. Whether the run brings a Spark
of its own or is done by the streams is decided in `streams.run_feed`.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.defs.batch_reporter import END_OF_RUN, Reporter, end_of_run, told
from lake_assets.defs.internals.instigators import has_ticked
from lake_assets.defs.internals.materializations import latest_id
from lake_assets.defs.keys import bronze_key, named
from lake_assets.defs.lake_scope import is_under_way, lake_tags
from lake_assets.defs.lazy_imports import is_run_needed, locate, run_feed
from lake_assets.defs.metadata import table_metadata
from lake_assets.defs.processes import note_process
from lake_assets.defs.reports import Event
from lake_assets.defs.rotation import SUPERVISOR
from lake_assets.errors import ServiceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.flows import feed_of_tables
from lake_assets.model.tables import bronze_of
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.state.run_notes import note_complete
from lake_assets.storage.open_store import lake_of

if TYPE_CHECKING:
    from lake_assets.streams.run import StreamEvent

Run = Callable[..., Generator["StreamEvent", None, None]]
"""As `streams.run_feed.run_feed`."""

_TICKED_WITHIN_S = 60.0
"""The supervisor ticks every 5 s; sensors beside it may hold it up for longer."""


def run_tags(lake: str, feed: Feed) -> dict[str, str]:
    """Tags of a run of a feed; dagster.yaml lets one a feed happen at a time."""
    return {
        "lake_assets/run": f"{lake}.{feed.feed}",
        **lake_tags(lake),
        # Seconds. A first run may take long; what is left then is for the next one.
        "dagster/max_runtime": str(24 * 3600),
    }


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """A job and a schedule for each feed that has one."""
    triggered = [feed for feed in feeds if feed.is_triggered]
    return dg.Definitions(
        jobs=[job(settings, feeds, feed) for feed in triggered],
        schedules=[_schedule(settings, feeds, feed) for feed in triggered if feed.schedule],
    )


def job_name(settings: Settings, feed: Feed) -> str:
    """The job that runs a feed."""
    return named(settings, f"run_feed_{feed.feed}")


def schedule_name(settings: Settings, feed: Feed) -> str:
    """The schedule of that job."""
    return f"{job_name(settings, feed)}_schedule"


def job(
    settings: Settings, feeds: Sequence[Feed], feed: Feed, run: Run = run_feed
) -> dg.JobDefinition:
    """The job of a feed among all; `run` runs it and yields what it does."""
    lake = lake_id(settings)

    @dg.op(
        name=named(settings, f"take_rows_of_{feed.feed}"),
        out={},
        description="Source to bronze to silver to live views, until all is taken that was there.",
        required_resource_keys={END_OF_RUN},
    )
    def take_rows(context: dg.OpExecutionContext) -> Iterator[Event]:
        instance, record = context.instance, context.run
        note_process(instance, record.run_id, lake)

        def are_coming() -> bool:
            is_on = has_ticked(
                instance,
                record,
                named(settings, SUPERVISOR),
                now=time.time(),
                within_s=_TICKED_WITHIN_S,
            )
            return bool(supervised(feeds)) and is_on

        events = run(
            settings,
            feeds,
            feed,
            lambda: locate(settings, feeds),
            owner=record.run_id,
            are_coming=are_coming,
        )
        # Views over the tables of another feed are that one's.
        whose = [feed] if feed.into is None else [feed, feed_of_tables(feed)]
        yield from told(
            context, settings, Reporter(settings, whose, instance, record.run_id, lake), events
        )

    @dg.job(
        name=job_name(settings, feed),
        description=(
            f"Takes all that came to `{feed.source.declared.label}` since the last run to silver, "
            "refreshes the views that streams refresh, and ends. The lake's streams do it if they "
            "run."
        ),
        tags=run_tags(lake, feed),
        executor_def=dg.in_process_executor,
        resource_defs={END_OF_RUN: dg.ResourceDefinition(end_of_run)},
    )
    def run_of_feed() -> None:
        take_rows()

    return run_of_feed


def _schedule(settings: Settings, feeds: Sequence[Feed], feed: Feed) -> dg.ScheduleDefinition:
    lake, name = lake_id(settings), job_name(settings, feed)

    @dg.schedule(
        name=schedule_name(settings, feed),
        cron_schedule=str(feed.schedule),
        job_name=name,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"A run of `{feed.feed}` if its source has something new, and none is on.",
    )
    def run_if_needed(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if is_under_way(context.instance, lake, name):
            return dg.SkipReason("The last run is still under way")
        looked_at = time.time()
        endpoints = _endpoints(settings, feeds)
        is_told = not _is_untold(settings, feed, context.instance)
        if is_told and not is_run_needed(settings, feed, endpoints):
            note_complete(settings.state_dir, feed.feed, looked_at)
            return dg.SkipReason(f"`{feed.source.declared.label}` has nothing new")
        return dg.RunRequest()

    return run_if_needed


def _is_untold(settings: Settings, feed: Feed, instance: dg.DagsterInstance) -> bool:
    """Whether Dagster knows nothing of a feed that has rows: it has lost its storage."""
    bronze = table_metadata(lake_of(settings), bronze_of(feed.feed))
    has_rows = bool(bronze) and bool(bronze["dagster/row_count"].value)
    return has_rows and latest_id(instance, bronze_key(settings, feed)) is None


def _endpoints(settings: Settings, feeds: Sequence[Feed]) -> Endpoints | None:
    try:
        return locate(settings, feeds)
    except ServiceError:
        return None  # the run says what is missing
