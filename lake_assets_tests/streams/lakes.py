"""A lake whose streams run now and then, as processes of their own would, in the test's Spark."""

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lake_assets.delta.committer import Committer
from lake_assets.formats.base import PayloadFormat, Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport
from lake_assets.model.tables import Layer, TableRef, bronze_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux import Demux
from lake_assets.silver.reprocess import Redo
from lake_assets.silver.selecting import with_select
from lake_assets.silver.transforming_format import with_transform
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.demux_loop import Follower
from lake_assets.streams.noted_changes import reprocess_journal
from lake_assets.streams.pipeline import Pipeline, demux_of, follower_of, start_ingest, turn_of
from lake_assets.streams.reprocess import finish_interrupted, rebuild
from lake_assets.streams.schemas import Schemas
from lake_assets.streams.single_pass import SinglePass
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import silver_of

Fence = Callable[[], AbstractContextManager[None]]

Places = Counter[tuple[int, int]]
"""Partition and offset of rows, and how often each is there."""


@dataclass
class StreamedLake:
    """A feed's lake; each `stream` opens it as a process that has just started does."""

    spark: SparkSession
    settings: Settings
    topic: Topic
    reports: list[BatchReport] = field(default_factory=list)
    kind: type[Committer] | None = None
    """Of the committer that its batches go through, where a test has one of its own."""

    @property
    def feed(self) -> Feed:
        return self.topic.feed()

    @contextmanager
    def pipeline(self) -> Iterator[Pipeline]:
        with open_lake(self.settings) as opened:
            committer = (
                self.kind(opened.committer.store, threads=2) if self.kind else opened.committer
            )
            context = replace(opened, committer=committer)
            yield Pipeline(
                session=self.spark,
                endpoints=self.topic.endpoints,
                context=context,
                stream=self.settings.stream,
                state_dir=self.settings.state_dir,
                report=self.reports.append,
            )

    def ingest(self, feed: Feed | None = None) -> None:
        with self.pipeline() as pipeline:
            start_ingest(pipeline, feed or self.feed, until_caught_up=True).awaitTermination()

    def demux(self, feed: Feed | None = None) -> None:
        with self.following(feed) as follower:
            follower.drain()

    @contextmanager
    def following(self, feed: Feed | None = None) -> Iterator[Follower]:
        """What demuxes, as a process that has just started has it."""
        feed = feed or self.feed
        with self.pipeline() as pipeline:
            finish_interrupted(pipeline.context, self.settings, feed)
            yield self._follower(pipeline, feed)

    def _follower(self, pipeline: Pipeline, feed: Feed) -> Follower:
        inner = with_transform(feed, _format(feed, pipeline))
        schemas = Schemas(
            feed=feed,
            format=with_select(self.spark, feed, inner, b""),
            stop=threading.Event(),
            announce=lambda _: None,
        )
        return follower_of(pipeline, demux_of(pipeline, feed, schemas))

    def stream_in_one_job(
        self,
        feed: Feed | None = None,
        prepared: Callable[[], None] = lambda: None,
        fence: Fence = nullcontext,
    ) -> None:
        """As `lake-assets stream --until-caught-up`: batches that may go to silver at once do."""
        feed = feed or self.feed
        with self.pipeline() as pipeline:
            finish_interrupted(pipeline.context, self.settings, feed)
            single_pass = SinglePass(session=self.spark, fence=fence)
            query = start_ingest(pipeline, feed, until_caught_up=True, take=single_pass)
            try:
                follower = self._follower(pipeline, feed)
                follower.recover()
                follower.demux.prepare(self.spark)
                prepared()
                single_pass.join(follower)
                query.awaitTermination()
                follower.drain()
            finally:
                single_pass.join(None)
                query.stop()

    def stream(self, feed: Feed | None = None) -> None:
        self.ingest(feed)
        self.demux(feed)

    def folder(self, table: TableRef) -> Path:
        return self.settings.lake_dir / table.relative

    def version(self, table: TableRef) -> int:
        return int(DeltaTable(self.folder(table)).version())

    def rebuild(self, **chosen: object) -> None:
        """As `lake-assets rebuild silver` does it."""
        with self.redo() as redo:
            self.rebuild_with(redo, **chosen)

    def rebuild_with(self, redo: Redo, **chosen: object) -> None:
        rebuild(redo, self.settings.state_dir, **chosen)

    @contextmanager
    def redo(self, feed: Feed | None = None) -> Iterator[Redo]:
        feed = feed or self.feed
        with self.pipeline() as pipeline:
            inner = with_transform(feed, _format(feed, pipeline))
            payload_format = with_select(self.spark, feed, inner, b"")
            demux = Demux(
                feed=feed,
                context=pipeline.context,
                journal=pipeline.journal(feed),
                format=payload_format,
                schemas=payload_format,
                report=self.reports.append,
                turn=turn_of(pipeline, feed),
            )
            journal = reprocess_journal(pipeline.context.lake, feed)
            yield Redo(session=self.spark, demux=demux, journal=journal)

    def forget_transactions(self, table: TableRef) -> None:
        """Take the transactions out of a table's log, as an engine that copies its rows does."""
        log = self.folder(table) / "_delta_log"
        for path in [*log.glob("*.parquet"), *log.glob("_last_checkpoint")]:
            path.unlink()
        for commit in log.glob("*.json"):
            lines = commit.read_text().splitlines(keepends=True)
            commit.write_text("".join(one for one in lines if not one.startswith('{"txn"')))

    def keep(self, path: Path) -> Path:
        """A copy of a file or a folder, for `put_back`."""
        copy = path.with_name(f"{path.name}.kept")
        if path.is_dir():
            shutil.copytree(path, copy)
        else:
            shutil.copy(path, copy)
        return copy

    def put_back(self, copy: Path) -> None:
        path = copy.with_name(copy.name.removesuffix(".kept"))
        if path.is_dir():
            shutil.rmtree(path)
        copy.rename(path)

    def places(self, table: TableRef) -> Places:
        prefix = "_" if table.layer is Layer.SILVER else ""
        rows = DeltaTable(self.folder(table)).to_pyarrow_table()
        columns = (rows[f"{prefix}partition"], rows[f"{prefix}offset"])
        return Counter(zip(*(column.to_pylist() for column in columns), strict=True))

    @property
    def bronze(self) -> Places:
        return self.places(bronze_of("games"))

    @property
    def silver(self) -> Places:
        """Of all games' tables."""
        return self.places(silver_of("uno")) + self.places(silver_of("go_fish"))

    @property
    def quarantine(self) -> Places:
        return self.places(quarantine_of("games"))


def _format(feed: Feed, pipeline: Pipeline) -> PayloadFormat[Any]:
    """What reads the feed's values, with nothing kept of what the registry said."""
    endpoints = pipeline.endpoints
    access = endpoints.registry_access
    return format_of(feed, Surroundings(registry=endpoints.registry, registry_access=access))
