"""Telling Dagster, in a run, what streams do: batches and refreshes become events as they come."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.defs.lake_scope import add_keys
from lake_assets.defs.lazy_imports import give_way, log_lines
from lake_assets.defs.processes import Fence, note_interrupt
from lake_assets.defs.reports import Event, events_of, unreported
from lake_assets.defs.sinks import Deliveries
from lake_assets.defs.told_columns import ToldColumns
from lake_assets.errors import LakeAssetsError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import (
    BatchReport,
    DeliveryReport,
    GoldRefreshed,
    SinkFailed,
    ViewFailed,
    Waiting,
)
from lake_assets.model.tables import EVERY_KEY
from lake_assets.settings.schema import Settings
from lake_assets.streams.batch_totals import BatchTotals, Change, changes_of, changes_of_gold

if TYPE_CHECKING:
    from lake_assets.streams.run import StreamEvent

END_OF_RUN = "end_of_run"
"""The resource that closes what a run has opened, however the run ends."""

_AT_MOST = 100
"""Tables reported between two looks at the streams. Each costs up to 17 ms an event, so after a
thousand at once a stop or a lost record would be noticed a minute late."""


def end_of_run(_: dg.InitResourceContext) -> Iterator[ExitStack]:
    """What `END_OF_RUN` is."""
    with ExitStack() as stack:
        yield stack


def never(_: "StreamEvent") -> bool:
    """As `told`'s `is_over`, of a run that ends when the streams do."""
    return False


def told(
    context: dg.OpExecutionContext,
    settings: Settings,
    reporter: "Reporter",
    events: Generator["StreamEvent", None, None],
    is_over: Callable[["StreamEvent"], bool] = never,
) -> Iterator[Event]:
    """The events of Dagster that streams come to, until they end or are to end.

    Args:
        context: of an op with the resource `END_OF_RUN`.
        settings: whose streams.
        reporter: knows what to tell.
        events: what the streams do; closed at the end.
        is_over: tells after each event whether they are to end.

    Raises:
        Failure: the run's record ended.
        LakeAssetsError: as the streams.
    """
    fence = Fence(context.instance, context.run.run_id)
    last_waiting: Waiting | None = None
    # An interrupt while Dagster stores an event is raised outside of this generator, which is then
    # neither resumed nor closed: without this, streams would outlive their failed run.
    context.resources.end_of_run.callback(events.close)
    with log_lines(settings.log.format), closing(events) as it:
        try:
            for event in it:
                fence.check()
                reporter.add(event)
                if isinstance(event, ViewFailed):
                    context.log.error("view %s of %s: %s", event.view, event.feed, event.reason)
                elif isinstance(event, SinkFailed):
                    context.log.error("sink %s of %s: %s", event.sink, event.feed, event.reason)
                elif isinstance(event, Waiting) and event != last_waiting:
                    # Said again every few seconds by the streams, and once by us.
                    last_waiting = event
                    context.log.warning("%s waits: %s", event.stage, event.reason)
                yield from reporter.due()
                if is_over(event):
                    context.log.info("The time of this run is over; the next one goes on")
                    # While batches go on: what is left to tell of then are the last ones.
                    yield from reporter.rest()
                    break
        except dg.DagsterExecutionInterruptedError:
            note_interrupt(context.instance, context.run.run_id)
            raise
        except LakeAssetsError:
            # What ended them may be among what was found last: a refused batch.
            yield from reporter.rest()
            raise
    yield from reporter.rest()


class Reporter:
    """Turns batches into Dagster's events, at the pace that settings ask for."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        instance: dg.DagsterInstance,
        run_id: str,
        lake: str,
    ) -> None:
        """Begin with the tables of which Dagster does not know what there is.

        Args:
            settings: whose streams.
            feeds: of which this run tells.
            instance: is told.
            run_id: the run.
            lake: the lake's id.
        """
        self._settings = settings
        self._feeds = {feed.feed: feed for feed in feeds}
        self._instance = instance
        self._run_id = run_id
        self._lake = lake
        self._told = ToldColumns()
        self._deliveries = Deliveries(settings, feeds, settings.stream.report_every_s)
        self._tally = BatchTotals(
            every_s=settings.stream.report_every_s,
            at_most=_AT_MOST,
            events_a_day=settings.stream.report_events_per_day,
        )
        for feed in feeds:
            self._tally.add(unreported(settings, feed, instance))

    def add(self, event: "StreamEvent") -> None:
        """Count in what a batch or a refresh of views changed; other events change nothing.

        Nor does a batch of another feed, which one that fills the same tables has finished: that
        feed's next run tells of it.
        """
        if isinstance(event, BatchReport):
            if event.feed in self._feeds:
                self._tally.add(changes_of(self._feeds[event.feed], event))
        elif isinstance(event, GoldRefreshed):
            self._tally.add(changes_of_gold(self._feeds[event.feed], event.refreshed))
        elif isinstance(event, DeliveryReport):
            self._deliveries.add(event)

    def due(self) -> Iterator[Event]:
        """Events of what is due by now."""
        yield from self._as_newest(self._events(self._tally.take(time.monotonic())))
        yield from self._deliveries.due()

    def rest(self) -> Iterator[Event]:
        """Events of all that was not told yet, however much it is: there is no later."""
        yield from self._as_newest(self._events(self._tally.rest()))
        yield from self._deliveries.rest()

    def _as_newest(self, events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, dg.AssetCheckEvaluation):
                give_way(self._instance, self._run_id, event)
            yield event

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
