"""One sink's run: batch after batch until its tables have nothing new, then what was done."""

import asyncio
import logging
import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from lake_assets.delta.catalog import keys_found
from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import DeliveryReport
from lake_assets.model.sinks import Sink
from lake_assets.settings.load import secret_of
from lake_assets.settings.schema import Settings
from lake_assets.sinks.base import Outcome
from lake_assets.sinks.batches import SinkBatch, next_batch, write_note
from lake_assets.sinks.calls import CallMaker
from lake_assets.sinks.catalog import target_of
from lake_assets.sinks.deliveries import Deliveries, Progress, deliveries_of
from lake_assets.sinks.engine import make_calls
from lake_assets.sinks.shape import Shaper
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.lake_id import lake_id

_LOG = logging.getLogger(__name__)


def sink_turn(feed: Feed, sink: Sink) -> str:
    """What at most one process of a lake does at a time: delivering to a sink."""
    return f"sink-{feed.feed}-{sink.name}"


@dataclass(slots=True)
class _Counted:
    """What outcomes come to."""

    rows: int = 0
    calls: int = 0
    dead_rows: int = 0
    tries: int = 0
    latencies: list[float] = field(default_factory=list)

    def add(self, outcomes: Sequence[Outcome]) -> None:
        for one in outcomes:
            count = one.call.rows.num_rows
            self.calls, self.tries = self.calls + 1, self.tries + one.tries
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
    ) -> None:
        """Find out how far the sink is.

        Args:
            session: of this sink alone; computes what Arrow does not.
            context: of the lake, with a committer of its own.
            feed: whose sink.
            sink: whose rows.
            settings: whose state folder has a note of the batch that runs.

        Raises:
            SettingsError: a secret is not there.
            SinkError: the sink cannot be called as it is declared.
            LakeError: the table of its deliveries cannot be read or written.
        """
        self._feed, self._sink, self._lake = feed, sink, context.lake
        self._note = settings.state_dir / "sinks" / f"{feed.feed}-{sink.name}.json"
        self._target = target_of(sink, secret_of)
        self._deliveries = Deliveries(context, deliveries_of(feed.feed, sink.name))
        self._maker = CallMaker(
            lake=context.lake,
            identity=f"{lake_id(settings)}/{feed.feed}/{sink.name}",
            shaper=Shaper(session, feed, sink),
            deliveries=self._deliveries,
            target=self._target,
        )

    def __enter__(self) -> Self:
        """Open the event loop in which all calls are made."""
        self._runner = asyncio.Runner()
        self._runner.run(self._target.__aenter__())
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

    def deliver(self, stop: threading.Event) -> DeliveryReport:
        """Deliver until the tables have nothing new, or it is told to stop.

        Raises:
            SinkError: no call can be made as things are.
            FeedError: an expression of the sink does not fit a table.
            LakeError: the lake cannot be read or written.
        """
        began, counted, batches = monotonic(), _Counted(), 0
        while not stop.is_set():
            batch = self._next()
            if batch is None:
                break
            if not self._run(batch, counted, stop):
                break
            batches += 1
        return DeliveryReport(
            feed=self._feed.feed,
            sink=self._sink.name,
            rows=counted.rows,
            calls=counted.calls,
            retries=counted.tries - counted.calls,
            dead_rows=counted.dead_rows,
            batches=batches,
            seconds=monotonic() - began,
            latency_s=_percentiles(counted.latencies),
        )

    def _next(self) -> SinkBatch | None:
        tables = [self._feed.silver_table(key) for key in keys_found(self._lake, self._feed)]
        points = {table: self._deliveries.point_of(table.relative) for table in sorted(set(tables))}
        return next_batch(self._lake, self._deliveries, points, self._note)

    def _run(self, batch: SinkBatch, counted: _Counted, stop: threading.Event) -> bool:
        left: list[Outcome] = []
        if batch.has_files:
            try:
                write_note(self._note, batch)
            except OSError as problem:
                fact = f"cannot be written ({problem.strerror or problem})"
                raise LakeError(str(self._note), fact, "Free some space") from problem

            def record(outcomes: Sequence[Outcome]) -> None:
                self._deliveries.record(batch.number, outcomes, None)
                counted.add(outcomes)

            pieces = self._maker.calls_of(batch)
            left, is_whole = self._runner.run(make_calls(self._target, pieces, record, stop))
            if not is_whole:
                if left:
                    record(left)
                return False
        points = {part.table.relative: part.until for part in batch.parts}
        self._deliveries.record(batch.number, left, Progress(batch=batch.number, points=points))
        counted.add(left)
        with suppress(OSError):  # a number that is done fits no batch
            self._note.unlink(missing_ok=True)
        return True


def _percentiles(latencies: Sequence[float]) -> dict[str, float]:
    """Of calls that were delivered: `p50`, `p99` and `max`; none if there were none."""
    if not latencies:
        return {}
    found = sorted(latencies)

    def at(share: float) -> float:
        return found[max(0, math.ceil(share * len(found)) - 1)]

    return {"p50": at(0.5), "p99": at(0.99), "max": found[-1]}
