"""The job `streams`: runs the feeds without a schedule until it is told to stop, or rotated.

A plain op, not assets: an asset would be called "materializing" for as long as the streams live,
and "failed" when they die. It yields the tables' events while it runs.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.defs.batch_reporter import END_OF_RUN, Reporter, end_of_run, told
from lake_assets.defs.code_version import CODE, code_version
from lake_assets.defs.internals.runs import NO_LIMIT
from lake_assets.defs.keys import named
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.lazy_imports import locate, wait_for_services
from lake_assets.defs.processes import note_process
from lake_assets.defs.reports import Event
from lake_assets.defs.rotation import SUPERVISOR, Rotation
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.reports import BatchReport
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.state.stream_stops import StreamStoppedError

if TYPE_CHECKING:
    from lake_assets.streams.run import StreamEvent

NAME = "streams"


def run_tags(lake: str) -> dict[str, str]:
    """Tags of a run of this lake's streams; dagster.yaml lets one such run happen at a time."""
    return {"lake_assets/streams": lake, **lake_tags(lake), **NO_LIMIT}


Stream = Callable[..., Generator["StreamEvent", None, None]]
"""As `streams.wait_for_services.patient_events`."""


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The job."""
    return dg.Definitions(jobs=[job(settings, feeds)])


def job(
    settings: Settings, feeds: Sequence[Feed], stream: Stream = wait_for_services
) -> dg.JobDefinition:
    """The job for these feeds; `stream` runs them and yields what they do."""
    lake = lake_id(settings)

    @dg.op(
        out={},
        name=named(settings, "run_streams"),
        description="Sources to bronze to silver, until told to stop.",
        required_resource_keys={END_OF_RUN},
    )
    def run_streams(context: dg.OpExecutionContext) -> Iterator[Event]:
        instance, run = context.instance, context.run
        note_process(instance, run.run_id, lake)
        rotation = Rotation(
            instance,
            run,
            supervisor=named(settings, SUPERVISOR),
            after_h=settings.stream.rotate_run_after_h,
        )
        reporter = Reporter(settings, supervised(feeds), instance, run.run_id, lake)
        events = stream(settings, feeds, lambda: locate(settings, feeds), owner=run.run_id)

        def is_over(event: "StreamEvent") -> bool:
            return rotation.is_due(did_something=isinstance(event, BatchReport))

        try:
            yield from told(context, settings, reporter, events, is_over)
        except StreamStoppedError as problem:
            # All were stopped while the run was on its way: nobody's fault, and no death.
            context.log.info("%s", problem)

    @dg.job(
        name=named(settings, NAME),
        description=(
            "Sources to bronze to silver without end. Kept alive by the sensor `supervisor`, which "
            "starts another run when one has had its time or is terminated. The jobs `stop_stream` "
            "and `start_stream` stop a feed's stream and start it again."
        ),
        tags={**run_tags(lake), CODE: code_version(settings, feeds)},
        executor_def=dg.in_process_executor,
        resource_defs={END_OF_RUN: dg.ResourceDefinition(end_of_run)},
    )
    def streams() -> None:
        run_streams()

    return streams
