"""The job `streams`: runs the two queries of every feed until it is told to stop, or rotated.

A plain op, not assets: an asset would be called "materializing" for as long as the streams live,
and "failed" when they die. It yields the tables' events while it runs.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing

import dagster as dg

from lake_assets.defs.internals.runs import NO_LIMIT
from lake_assets.defs.lake_scope import add_keys, lake_tags
from lake_assets.defs.processes import Fence
from lake_assets.defs.reports import Event, events_of, unreported
from lake_assets.defs.rotation import Rotation
from lake_assets.defs.told_columns import ToldColumns
from lake_assets.errors import LakeAssetsError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, GoldRefreshed, ViewFailed, Waiting
from lake_assets.model.tables import EVERY_KEY
from lake_assets.runtime.log_lines import log_lines
from lake_assets.services.control import locate
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.streams.batch_totals import BatchTotals, Change, changes_of, changes_of_gold
from lake_assets.streams.run import StreamEvent
from lake_assets.streams.wait_for_services import wait_for_services

NAME = "streams"


def run_tags(lake: str) -> dict[str, str]:
    """Tags of a run of this lake's streams; dagster.yaml lets one such run happen at a time."""
    return {"lake_assets/streams": lake, **lake_tags(lake), **NO_LIMIT}


_END_OF_RUN = "end_of_run"
"""The resource that closes what the run has opened, however the run ends."""

Stream = Callable[..., Generator[StreamEvent, None, None]]
"""As `streams.wait_for_services.patient_events`."""

_AT_MOST = 100
"""Tables reported between two looks at the streams. Each costs up to 17 ms an event, so after a
thousand at once a stop or a lost record would be noticed a minute late."""


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
        description="Kafka to bronze to silver, until told to stop.",
        required_resource_keys={_END_OF_RUN},
    )
    def run_streams(context: dg.OpExecutionContext) -> Iterator[Event]:
        instance, run_id = context.instance, context.run.run_id
        fence = Fence(instance, run_id)
        rotation = Rotation(instance, context.run, after_h=settings.stream.rotate_run_after_h)
        reporter = _Reporter(settings, feeds, instance, run_id, lake)
        last_waiting: Waiting | None = None
        events = stream(settings, feeds, lambda: locate(settings, feeds), owner=run_id)
        # An interrupt while Dagster stores an event is raised outside of this generator, which is
        # then neither resumed nor closed: without this, streams would outlive their failed run.
        context.resources.end_of_run.callback(events.close)
        with log_lines(settings.log.format), closing(events) as it:
            try:
                for event in it:
                    fence.check()
                    reporter.add(event)
                    if isinstance(event, ViewFailed):
                        context.log.error("view %s of %s: %s", event.view, event.feed, event.reason)
                    elif isinstance(event, Waiting) and event != last_waiting:
                        # Said again every few seconds by the streams, and once by us.
                        last_waiting = event
                        context.log.warning("%s waits: %s", event.stage, event.reason)
                    yield from reporter.due()
                    if rotation.is_due(did_something=isinstance(event, BatchReport)):
                        context.log.info("The time of this run is over; the next one goes on")
                        # While batches go on: what is left to tell of then are the last ones.
                        yield from reporter.rest()
                        break
            except LakeAssetsError:
                # What ended them may be among what was found last: a refused batch.
                yield from reporter.rest()
                raise
        yield from reporter.rest()

    @dg.job(
        name=NAME,
        description=(
            "Kafka to bronze to silver without end. Kept alive by the sensor `supervisor`, which "
            "starts another run when one has had its time; to stop streaming, turn that sensor off "
            "and terminate the run."
        ),
        tags=run_tags(lake),
        executor_def=dg.in_process_executor,
        resource_defs={_END_OF_RUN: dg.ResourceDefinition(_end_of_run)},
    )
    def streams() -> None:
        run_streams()

    return streams


def _end_of_run(_: dg.InitResourceContext) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class _Reporter:
    """Turns batches into Dagster's events, at the pace that settings ask for."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        instance: dg.DagsterInstance,
        run_id: str,
        lake: str,
    ) -> None:
        self._settings = settings
        self._feeds = {feed.feed: feed for feed in feeds}
        self._instance = instance
        self._run_id = run_id
        self._lake = lake
        self._told = ToldColumns()
        self._tally = BatchTotals(
            every_s=settings.stream.report_every_s,
            at_most=_AT_MOST,
            events_a_day=settings.stream.report_events_per_day,
        )
        for feed in feeds:
            self._tally.add(unreported(settings, feed, instance))

    def add(self, event: StreamEvent) -> None:
        """Count in what a batch or a refresh of views changed; other events change nothing."""
        if isinstance(event, BatchReport):
            self._tally.add(changes_of(self._feeds[event.feed], event))
        elif isinstance(event, GoldRefreshed):
            self._tally.add(changes_of_gold(self._feeds[event.feed], event.refreshed))

    def due(self) -> Iterator[Event]:
        """Events of what is due by now."""
        return self._events(self._tally.take(time.monotonic()))

    def rest(self) -> Iterator[Event]:
        """Events of all that was not told yet, however much it is: there is no later."""
        return self._events(self._tally.rest())

    def _events(self, changes: Sequence[Change]) -> Iterator[Event]:
        for name, feed in self._feeds.items():
            of_feed = [change for change in changes if change.feed == name]
            # A key's silver and gold may be told of together.
            keys = {c.key: None for c in of_feed if c.key and c.key != EVERY_KEY}
            if keys:
                add_keys(self._instance, feed, self._lake, list(keys))
            yield from events_of(
                self._settings, feed, of_feed, self._instance, self._run_id, self._told
            )
