"""A micro-batch that goes to bronze and to silver in one Spark job, while demux keeps up.

The job writes bronze's file and the silver tables' files. Then bronze is committed, as ever, and
silver as a batch of demux that took just that commit: what a crash in between leaves is what it
leaves between ingest and demux. Whatever is not plain (demux is behind, a schema or key is new, an
expectation fails, the job dies) is ingest's batch alone, and demux takes it from bronze.
Docs: `docs/decisions/0051-bronze-and-silver-from-one-job.md`.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # comes with PySpark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lake_assets.bronze.ingest import Ingest
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace
from lake_assets.spark.fan_out_twice import fan_out_twice
from lake_assets.spark.task_slots import task_slots
from lake_assets.state.erasing_fence import while_planned
from lake_assets.streams.batch_attempts import FeedAttempts
from lake_assets.streams.demux_loop import Derived, Follower
from lake_assets.streams.pipeline import Pipeline
from lake_assets.streams.triggers import tasks_of

_LOG = logging.getLogger(__name__)

_START_S = 30.0
"""Seconds that the first batch waits for demux to be ready: of a long backlog it is a large one."""

_TURN_S = 0.2
"""Seconds that a batch waits while demux is at an older one; then it is ingest's alone."""

_REST_S = 60.0
"""Seconds of two jobs a batch after one that died: what makes it die comes again."""


@dataclass(kw_only=True)
class SinglePass:
    """Takes a feed's micro-batches, in ingest's thread, and shares demux with the feed's own."""

    session: SparkSession
    attempts: FeedAttempts | None = None
    """While a batch that failed is tried again, each stage takes its own."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    """Held by whoever uses the follower."""

    fence: Callable[[], AbstractContextManager[None]] = nullcontext
    """Held while a batch is planned, made and committed (`state.erasing_fence`)."""

    _follower: Follower | None = None
    _is_decided: threading.Event = field(default_factory=threading.Event)
    _rests_until: float = 0.0

    @classmethod
    def of(cls, pipeline: Pipeline, feed: Feed) -> Self:
        """That of a feed whose streams are about to begin."""
        return cls(
            session=pipeline.session,
            attempts=pipeline.attempts,
            fence=partial(while_planned, pipeline.state_dir, feed.feed),
        )

    def join(self, follower: Follower | None) -> None:
        """Let batches go through demux, too; none of them does until somebody says so."""
        self._follower = follower
        self._is_decided.set()

    def __call__(self, ingest: Ingest, batch: DataFrame, until: ByPlace) -> None:
        """Take a micro-batch; as `Ingest`, and as `Follower.step` where that takes part.

        Args:
            ingest: of the feed.
            batch: what the source reads.
            until: by name and partition, the offset after its last row.

        Raises:
            SourceError: a job died, and the source does not answer.
            LakeAssetsError: as `Ingest` and `Follower.step`.
        """
        self._is_decided.wait(_START_S)
        follower = self._follower
        if not ingest.rows_until(until):
            return
        with self.fence():
            self._take(follower, ingest, batch, until)

    def recover(self, follower: Follower) -> None:
        """Finish or undo a batch of demux that was cut off; raises as `Follower.step`."""
        with self.alone():
            follower.recover()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Use the follower while no batch goes through it."""
        with self.turn, self.fence():
            yield

    def _take(
        self, follower: Follower | None, ingest: Ingest, batch: DataFrame, until: ByPlace
    ) -> None:
        rows = ingest.rows_until(until)
        may_take = time.monotonic() >= self._rests_until and not self._has_failed()
        if follower is not None and may_take and self.turn.acquire(timeout=_TURN_S):
            try:
                if self._is_taken(follower, ingest, batch, until):
                    return
            finally:
                self.turn.release()
        ingest(self._in_tasks(batch, rows, 1), until)

    def _has_failed(self) -> bool:
        """Whether a batch failed lately: then it is to be seen in which stage."""
        attempts = self.attempts
        return attempts is not None and bool(
            attempts.ingest.small_until or attempts.demux.small_until
        )

    def _in_tasks(self, batch: DataFrame, rows: int, tables: int) -> DataFrame:
        cores = task_slots(self.session)
        return batch.coalesce(tasks_of(rows, tables, cores))

    def _is_taken(
        self, follower: Follower, ingest: Ingest, batch: DataFrame, until: ByPlace
    ) -> bool:
        """Take a micro-batch to bronze and silver; False if nothing was done."""
        job = follower.demux.next_job(self.session) if follower.is_at_end() else None
        if job is None or not job.is_all_in_tasks:
            return False
        began = time.perf_counter()
        try:
            rows = self._in_tasks(batch, ingest.rows_until(until), follower.demux.tables)
            done = fan_out_twice(rows, ingest.output(), job.output())
        except (PySparkException, Py4JError):
            if self._follower is None:
                raise  # the streams end, which cancels jobs
            ingest.ensure_there(
                until
            )  # one that has gone costs the next job minutes, too: Kafka's 3
            # Bronze takes every row, so that what is in one makes demux fail and not ingest.
            _LOG.warning("a batch goes to bronze alone, since its job failed", exc_info=True)
            self._rests_until = time.monotonic() + _REST_S
            return False
        demuxed = job.demuxed(done.second)
        try:
            files = ingest.commit(done.first, until, job_s=time.perf_counter() - began)
        except BaseException:
            job.discard(demuxed)  # a disk that is full would only get fuller by each try
            raise
        if self.attempts is not None:
            self.attempts.ingest.settle()  # what fails from here on is demux's
        is_refused = job.failures(demuxed) or follower.demux.partitions.problem(demuxed.written)
        if not files or done.questions or is_refused:
            job.discard(demuxed)
        else:
            paths = frozenset(file.path for file in files)
            follower.step(Derived(bronze=paths, job=job, demuxed=demuxed))
        return True
