"""The pipeline, written once: how a feed's rows get from its source to silver.

source -> [ingest] -> bronze_{feed} -> [demux] -> silver_{key}_events, quarantine_{feed}

Ingest is a streaming query; its checkpoint is created again at each start, from what bronze's
commits say. Demux follows bronze's log (`streams.demux_loop`).
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from lake_assets.bronze.ingest import Ingest
from lake_assets.delta.commit_journal import Journal, journal_of
from lake_assets.formats.catalog import ids_in
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import ByPlace
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.runtime.log_lines import about
from lake_assets.settings.schema import StreamSettings
from lake_assets.silver.demux import Demux
from lake_assets.silver.recovery import Recovery
from lake_assets.silver.turn import Turn
from lake_assets.sources.catalog import source_of
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.task_slots import task_slots
from lake_assets.state.batch_strikes import BatchRange
from lake_assets.streams.batch_attempts import FeedAttempts
from lake_assets.streams.deduplication_turn import DEMUX, deduplication_turn
from lake_assets.streams.demux_loop import Follower
from lake_assets.streams.schemas import Schemas
from lake_assets.streams.triggers import ingest_every_s
from lake_assets.streams.waiting_rows import CatchUp


def demux_journal(state_dir: Path, feed: Feed) -> Journal:
    """Where a feed's batch of demux is noted until it is whole."""
    return journal_of(state_dir, feed.feed, DEMUX)


def checkpoint_of(state_dir: Path, feed: str) -> Path:
    """Folder of ingest's checkpoint."""
    return state_dir / "checkpoints" / feed


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipeline:
    """What the streams of a lake are built from."""

    session: SparkSession
    endpoints: Endpoints
    context: LakeContext
    stream: StreamSettings
    state_dir: Path
    report: Callable[[BatchReport], None]
    feeds: Sequence[Feed] = ()
    """All that are declared."""

    attempts: FeedAttempts | None = None
    """Of the one feed that it is for, by which its batches are counted that fail."""

    failed: Callable[[str, Exception], None] | None = None
    """Told of a feed's error that ends its query; Spark passes it on as text alone."""

    def journal(self, feed: Feed) -> Journal:
        """The journal of the feed's batches of demux."""
        return demux_journal(self.state_dir, feed)


Take: TypeAlias = Callable[[Ingest, DataFrame, ByPlace], None]
"""Takes a micro-batch to bronze, with what a call of `Ingest` is given."""


def start_ingest(
    pipeline: Pipeline, feed: Feed, *, until_caught_up: bool, take: Take = Ingest.__call__
) -> StreamingQuery:
    """Start the query that lands a source's rows in bronze, from where bronze is.

    Args:
        pipeline: what it is built from.
        feed: whose source it is.
        until_caught_up: end with what was there at the start.
        take: what is done with each micro-batch.

    Raises:
        SourceError: the source cannot be asked for its offsets.
        StreamError: the source does not have the rows that come next.
        LakeError: the lake cannot be written.
    """
    source = source_of(feed, pipeline.endpoints, pipeline.context.lake)
    ingest = Ingest(
        feed=feed,
        source=source,
        context=pipeline.context,
        report=pipeline.report,
        ids=ids_in(feed.payload),
    )
    starts = ingest.prepare()
    # Spark notes in it what bronze's commits say anyway; one of before may be of another bronze.
    checkpoint = checkpoint_of(pipeline.state_dir, feed.feed)
    shutil.rmtree(checkpoint, ignore_errors=True)
    rows = source.read(
        pipeline.session,
        starts=starts,
        max_rows=pipeline.stream.max_rows_per_batch,
        tasks=task_slots(pipeline.session),
    )

    def run_batch(batch: DataFrame, batch_id: int) -> None:
        try:
            until = source.batch_end(_planned_end(checkpoint, batch_id))
            with (
                about(feed=feed.feed, stage=Stage.INGEST.value),
                _tried(pipeline.attempts, ingest.range_until(until)),
            ):
                take(ingest, batch, until)
        except Exception as problem:
            if pipeline.failed is not None:
                pipeline.failed(feed.feed, problem)
            raise

    writer = rows.writeStream.foreachBatch(run_batch).option("checkpointLocation", str(checkpoint))
    if until_caught_up:
        return writer.trigger(availableNow=True).start()
    every_ms = round(ingest_every_s(feed, pipeline.stream) * 1000)
    return writer.trigger(processingTime=f"{every_ms} milliseconds").start()


def _tried(attempts: FeedAttempts | None, batch: BatchRange) -> AbstractContextManager[None]:
    return nullcontext() if attempts is None else attempts.ingest.attempt(batch)


_FIRST_SOURCE_LINE = 2
"""Of a file in a checkpoint's `offsets/`: line 0 is the format's version, line 1 the batch's
metadata; then one line of JSON a source."""


def _planned_end(checkpoint: Path, batch_id: int) -> str:
    """Where a micro-batch ends, as its source's reader says it; noted before the batch runs."""
    lines = (checkpoint / "offsets" / str(batch_id)).read_text().splitlines()
    return lines[_FIRST_SOURCE_LINE]


def demux_of(pipeline: Pipeline, feed: Feed, schemas: Schemas) -> Demux:
    """What takes a feed's bronze rows to silver and quarantine."""
    return Demux(
        feed=feed,
        context=pipeline.context,
        journal=pipeline.journal(feed),
        format=schemas.format,
        schemas=schemas,
        report=pipeline.report,
        feeds=pipeline.feeds,
        turn=turn_of(pipeline, feed),
    )


def turn_of(pipeline: Pipeline, feed: Feed) -> Turn:
    """What is held while duplicates are told among rows of a feed that deduplicates."""
    return deduplication_turn(pipeline.context, pipeline.state_dir, feed, pipeline.report)


def recovery_of(pipeline: Pipeline, feed: Feed) -> Recovery:
    """What finishes or undoes a batch of demux that was cut off."""
    return Recovery(
        feed=feed.feed,
        origin=origin_of(feed),
        context=pipeline.context,
        journal=pipeline.journal(feed),
        report=pipeline.report,
        turn=turn_of(pipeline, feed),
    )


def follower_of(pipeline: Pipeline, demux: Demux) -> Follower:
    """What runs `demux` over all that comes into bronze."""
    recovery = recovery_of(pipeline, demux.feed)
    return Follower(
        session=pipeline.session,
        demux=demux,
        recovery=recovery,
        max_bytes=pipeline.stream.max_bytes,
        attempts=pipeline.attempts.demux if pipeline.attempts else None,
    )


def catch_up_of(pipeline: Pipeline, demux: Demux, schemas: Schemas) -> CatchUp:
    """What takes rows that had to wait for the registry to where they belong."""
    return CatchUp(
        session=pipeline.session,
        demux=demux,
        schemas=schemas,
        state_dir=pipeline.state_dir,
        report=pipeline.report,
        attempts=pipeline.attempts.catch_up if pipeline.attempts else None,
    )
