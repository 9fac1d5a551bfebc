"""One sink's run: batch after batch until its tables have nothing new, then what was done."""

import asyncio
import logging
import math
import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from lake_assets.delta.conflicts import lake_errors
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import DeliveryReport, RedeliveryReport
from lake_assets.model.sinks import Sink
from lake_assets.model.tables import deliveries_of
from lake_assets.settings.load import secret_of
from lake_assets.settings.schema import Settings
from lake_assets.sinks.base import Outcome
from lake_assets.sinks.bronze_rows import BronzeRows
from lake_assets.sinks.calls import calls_of
from lake_assets.sinks.catalog import target_of
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.engine import make_calls
from lake_assets.sinks.following import Following, Outside, Ready, Whose
from lake_assets.sinks.letters import Redelivery, letters_in
from lake_assets.sinks.silver_rows import SilverRows
from lake_assets.sinks.view_rows import ViewRows
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.lake_id import lake_id

_LOG = logging.getLogger(__name__)

_NOTHING = Outside()

_WHOLE_BEFORE = 2
"""Batches of a view that are delivered before its dead letters: one that was begun, perhaps, and
what is new then. A view that is refreshed all the time has always more."""


def sink_turn(feed: Feed, sink: Sink) -> str:
    """What at most one process of a lake does at a time: delivering to a sink."""
    return f"sink-{feed.feed}-{sink.name}"


def redelivery_turn(feed: Feed, sink: Sink) -> str:
    """As `sink_turn`: sending a sink's dead letters again, beside whoever delivers."""
    return f"redelivery-{feed.feed}-{sink.name}"


@dataclass(slots=True)
class _Counted:
    """What outcomes come to."""

    rows: int = 0
    calls: int = 0
    dead_rows: int = 0
    tries: int = 0
    batches: int = 0
    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    began: float = field(default_factory=monotonic)

    def begin(self) -> None:
        """Count from nothing."""
        self.rows = self.calls = self.dead_rows = self.tries = self.batches = 0
        self.latencies, self.began = array("d"), monotonic()

    def add(self, outcomes: Sequence[Outcome]) -> None:
        for one in outcomes:
            count = one.call.rows.num_rows
            self.tries += one.tries
            self.calls += one.call.refusal is None
            if one.is_delivered:
                self.rows += count
                self.latencies.append(one.seconds)
            else:
                self.dead_rows += count
                _LOG.warning(
                    "%d rows are dead letters: %s (call %s)", count, one.reason, one.call.key
                )


class SinkRun:
    """Delivers to one sink, whose connections are open as long as it is entered.

    Of one thread, which has the sink's turn.
    """

    def __init__(
        self,
        session: SparkSession,
        context: LakeContext,
        feed: Feed,
        sink: Sink,
        settings: Settings,
        outside: Outside = _NOTHING,
    ) -> None:
        """Find out how far the sink is.

        Args:
            session: of this sink alone; computes what Arrow does not.
            context: of the lake, with a committer of its own.
            feed: whose sink.
            sink: whose rows.
            settings: whose state folder has a note of the batch that runs.
            outside: what it uses that is not in the lake.

        Raises:
            SettingsError: a secret is not there.
            SinkError: the sink cannot be called as it is declared.
            LakeError: the table of its deliveries cannot be read or written.
        """
        self._feed, self._sink, self._lake = feed, sink, context.lake
        self._committer, self._ledger = context.committer, context.erasures
        note = settings.state_dir / "sinks" / f"{feed.feed}-{sink.name}.json"
        self._identity = f"{lake_id(settings)}/{feed.feed}/{sink.name}"
        self._target = target_of(sink, secret_of, outside.endpoints)
        table = deliveries_of(feed.feed, sink.name)
        self._deliveries = Deliveries(context, table, has_offsets=sink.view is None)
        whose = Whose(
            lake=context.lake,
            feed=feed,
            sink=sink,
            session=session,
            deliveries=self._deliveries,
            target=self._target,
            format=outside.format,
        )
        self._following = _following(whose, note)

    def __enter__(self) -> Self:
        """Open the event loop in which all calls are made; raises as `deliver`."""
        self._runner = asyncio.Runner()
        try:
            self._runner.run(self._target.__aenter__())
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close connections and the loop."""
        try:
            self._runner.run(self._target.__aexit__(kind, problem, trace))
        finally:
            self._runner.close()

    def deliver(
        self,
        stop: threading.Event,
        told: Callable[[DeliveryReport], None] | None = None,
        gives_way: Callable[[], bool] = lambda: False,
    ) -> DeliveryReport:
        """Deliver until the tables have nothing new, or it is told to stop.

        Args:
            stop: ends it soon.
            told: gets what was done now and then, in any thread, while it goes on, which it does
                for as long as rows come faster than they go; what is returned has the rest.
            gives_way: asked after each batch whether the next one is to be another run's.

        Raises:
            SinkError: no call can be made as things are.
            FeedError: an expression of the sink does not fit a table.
            LakeError: the lake cannot be read or written.
        """
        counted = _Counted()
        with lake_errors(self._lake.root):
            for _ in self._done(counted, stop, told):
                if gives_way():
                    break
        return self._report(counted)

    def _done(
        self,
        counted: _Counted,
        stop: threading.Event,
        told: Callable[[DeliveryReport], None] | None,
    ) -> Iterator[Ready]:
        """Deliver batch after batch; each that is done."""
        while not stop.is_set():
            batch = self._following.next()
            if batch is None or not self._run(batch, counted, stop, told):
                break
            counted.batches += 1
            yield batch

    def redeliver(self, stop: threading.Event) -> RedeliveryReport:
        """Send all dead letters again, or until it is told to stop; as `deliver` else.

        Another process may deliver to a sink of silver meanwhile, none to one of a view, and none
        may do this. To one of a view what was begun is delivered first, and what is new then.

        Raises:
            CommitConflictError: others rewrite the table of deliveries all the time.
        """
        counted, committer = _Counted(), self._committer
        with lake_errors(self._lake.root):
            if self._sink.view is not None:
                # What its rows are is told by a version that is done, and not by one half sent.
                whole = (batch for batch in self._done(counted, stop, None) if batch.is_whole)
                deque(islice(whole, _WHOLE_BEFORE), maxlen=0)
            letters = letters_in(committer, self._deliveries.table)
            told = (self._following, self._target, self._identity, letters)
            again = Redelivery(committer, self._deliveries.table, *told, ledger=self._ledger)

            def record(outcomes: Sequence[Outcome]) -> None:
                again.record(outcomes)
                counted.add(outcomes)

            left, _ = self._runner.run(make_calls(self._target, again.calls(), record, stop))
            if left:
                record(left)
        return RedeliveryReport(done=self._report(counted), missing_rows=again.missing)

    def _report(self, counted: _Counted) -> DeliveryReport:
        """What was counted; it begins anew with that."""
        report = DeliveryReport(
            feed=self._feed.feed,
            sink=self._sink.name,
            rows=counted.rows,
            calls=counted.calls,
            retries=counted.tries - counted.calls,
            dead_rows=counted.dead_rows,
            failed_tries=counted.tries - len(counted.latencies),
            batches=counted.batches,
            seconds=monotonic() - counted.began,
            latency_s=_percentiles(counted.latencies),
        )
        counted.begin()
        return report

    def _run(
        self,
        batch: Ready,
        counted: _Counted,
        stop: threading.Event,
        told: Callable[[DeliveryReport], None] | None,
    ) -> bool:
        left: list[Outcome] = []
        if batch.has_rows:
            batch.begin()

            def record(outcomes: Sequence[Outcome]) -> None:
                self._deliveries.record(batch.number, outcomes, None)
                counted.add(outcomes)
                if told is not None:
                    told(self._report(counted))

            calls = calls_of(batch.rows(), self._target, self._identity)
            made = make_calls(self._target, calls, record, stop)
            left, is_whole = self._runner.run(made)
            if not is_whole:
                if left:
                    record(left)
                return False
        self._deliveries.record(batch.number, left, batch.progress)
        counted.add(left)
        batch.end()
        return True


def _following(whose: Whose, note: Path) -> Following:
    """What follows the tables that the sink reads."""
    if whose.sink.view is not None:
        return ViewRows(whose)
    return BronzeRows(whose, note) if whose.sink.is_of_bronze else SilverRows(whose, note)


def _percentiles(latencies: Sequence[float]) -> dict[str, float]:
    """Of calls that were delivered: `p50`, `p99` and `max`; none if there were none."""
    if not latencies:
        return {}
    found = sorted(latencies)

    def at(share: float) -> float:
        return found[max(0, math.ceil(share * len(found)) - 1)]

    return {"p50": at(0.5), "p99": at(0.99), "max": found[-1]}
