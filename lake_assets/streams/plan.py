"""The road, written once: which streaming queries a feed has, from its source to silver.

source -> [ingest] -> bronze_{feed} -> [demux] -> silver_{game}_events, quarantine_{feed}
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from lake_assets.bronze.ingest import Ingest
from lake_assets.errors import LakeAssetsError, StreamError
from lake_assets.lake.change import Batch
from lake_assets.lake.gained import is_told_by_commits
from lake_assets.lake.history import identity, open_table, rows_of
from lake_assets.lake.journal import Journal, journal_of
from lake_assets.lake.means import Means
from lake_assets.lake.scan import files_of_batch, rows_in, scan
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Hop
from lake_assets.model.tables import bronze_of
from lake_assets.settings.schema import StreamSettings
from lake_assets.silver.demux import Demux
from lake_assets.silver.rows import BRONZE_NAMES
from lake_assets.sources.kafka import read_topic
from lake_assets.streams.pace import demux_every_s, ingest_every_s, tasks_of
from lake_assets.streams.position import checkpoint_of, is_unbegun, span_of
from lake_assets.streams.schemas import Schemas
from lake_assets.streams.waiting import CatchUp

_QUERY_ID = "sql.streaming.queryId"
"""Spark's local property with the query's id, which its checkpoint keeps: a new checkpoint has a
new id, so its batches are never taken for those of the old one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Road:
    """What the queries of a lake are built from."""

    session: SparkSession
    endpoints: Endpoints
    means: Means
    stream: StreamSettings
    state_dir: Path
    report: Callable[[BatchReport], None]
    failed: Callable[[LakeAssetsError], None] | None = None
    """Told of an error of ours that ends a query; Spark passes it on as text alone."""

    def checkpoint(self, feed: Feed, hop: Hop) -> Path:
        """Folder of a query's checkpoint; the road opens it for no other query."""
        return checkpoint_of(self.state_dir, feed.feed, hop)

    def journal(self, feed: Feed, hop: Hop) -> Journal:
        """The journal that belongs to that checkpoint."""
        return journal_of(self.state_dir, feed.feed, hop)


def start_ingest(road: Road, feed: Feed, *, until_caught_up: bool) -> StreamingQuery:
    """Start the query that lands a topic's rows in bronze.

    Raises:
        StreamError: bronze has rows and the checkpoint that says which is gone.
    """
    checkpoint = road.checkpoint(feed, Hop.INGEST)
    _refuse_second_ingest(road.means.lake, feed, checkpoint)
    ingest = Ingest(
        feed=feed.feed,
        means=road.means,
        journal=road.journal(feed, Hop.INGEST),
        report=_placed(road, feed, Hop.INGEST),
    )
    ingest.prepare()
    rows = read_topic(
        road.session,
        feed.source.kafka,
        road.endpoints,
        max_rows=road.stream.max_rows_per_batch,
        tasks=road.session.sparkContext.defaultParallelism,
    )
    every_s = None if until_caught_up else ingest_every_s(feed, road.stream)
    return _start(road, rows, ingest, checkpoint, every_s=every_s)


def demux_of(road: Road, feed: Feed, schemas: Schemas) -> Demux:
    """What takes a feed's bronze rows to silver and quarantine."""
    return Demux(
        feed=feed,
        means=road.means,
        journal=road.journal(feed, Hop.DEMUX),
        newest=schemas.newest,
        resolve=schemas.resolve,
        report=_placed(road, feed, Hop.DEMUX),
    )


def catch_up_of(road: Road, demux: Demux, schemas: Schemas) -> CatchUp:
    """What takes rows that had to wait for the registry to where they belong."""
    return CatchUp(
        session=road.session,
        demux=demux,
        schemas=schemas,
        journal=journal_of(road.state_dir, demux.feed.feed, "waiting"),
        report=road.report,
    )


def start_demux(road: Road, demux: Demux, *, until_caught_up: bool) -> StreamingQuery:
    """Start the query that runs `demux` over all that comes into bronze."""
    feed, cores = demux.feed, road.session.sparkContext.defaultParallelism
    rows = (
        road.session.readStream.format("delta")
        .option("maxBytesPerTrigger", road.stream.max_bytes_per_batch)
        # Compaction and erasure rewrite files whose rows went through here already.
        .option("skipChangeCommits", "true")
        .options(**_beginning(road, feed))
        .load(str(bronze_of(feed.feed).path(road.means.lake)))
    )

    def take(frame: DataFrame, batch: Batch) -> None:
        files = files_of_batch(road.session, batch.app_id)
        if not files:
            return  # commits that bring no rows: bronze's creation, a compaction
        tasks = tasks_of(rows_in(files), demux.tables, cores)
        demux(scan(frame.sparkSession, files, ("value", *BRONZE_NAMES), tasks=tasks), batch)

    checkpoint = road.checkpoint(feed, Hop.DEMUX)
    every_s = None if until_caught_up else demux_every_s(feed, road.stream)
    return _start(road, rows, take, checkpoint, every_s=every_s)


def _beginning(road: Road, feed: Feed) -> Mapping[str, str]:
    """Where a new query begins: with bronze's first commit, if its commits tell all that it has.

    Delta's source begins with a snapshot else, whose files it sorts in Spark jobs of a second. A
    first batch that was planned and is not done has the same rows either way.
    """
    if not is_unbegun(road.checkpoint(feed, Hop.DEMUX)):
        return {}
    lake, bronze = road.means.lake, bronze_of(feed.feed)
    found = identity(lake, bronze)
    if found is None or not is_told_by_commits(bronze.path(lake), found[0]):
        return {}
    return {"startingVersion": "0"}


def _placed(road: Road, feed: Feed, hop: Hop) -> Callable[[BatchReport], None]:
    """Reports of a hop, together with what part of its source each batch took."""
    checkpoint = road.checkpoint(feed, hop)

    def report(one: BatchReport) -> None:
        span = span_of(checkpoint, hop, one.batch_id, feed.source.kafka.topic)
        road.report(replace(one, span=span))

    return report


def _start(
    road: Road,
    rows: DataFrame,
    hop: Callable[[DataFrame, Batch], None],
    checkpoint: Path,
    *,
    every_s: float | None,
) -> StreamingQuery:
    """Start a query that takes what is there and ends, or looks for rows every so many seconds."""

    def run_batch(batch: DataFrame, batch_id: int) -> None:
        query_id = batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        if query_id is None:
            raise StreamError("Spark", f"does not set {_QUERY_ID}", "Use the pinned pyspark")
        try:
            hop(batch, Batch(app_id=query_id, version=batch_id))
        except LakeAssetsError as problem:
            if road.failed is not None:
                road.failed(problem)
            raise

    writer = rows.writeStream.foreachBatch(run_batch).option("checkpointLocation", str(checkpoint))
    if every_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{round(every_s * 1000)} milliseconds")
    return writer.start()


def _refuse_second_ingest(lake: Path, feed: Feed, checkpoint: Path) -> None:
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None or (checkpoint / "metadata").exists() or not rows_of(bronze):
        return
    raise StreamError(
        f"ingest of feed {feed.feed!r}",
        f"{bronze_of(feed.feed).path(lake)} has rows, but the checkpoint {checkpoint} that says "
        "which of the topic they are is gone, so all would be stored twice",
        "Restore the checkpoint, or name an empty lake with --lake",
    )
