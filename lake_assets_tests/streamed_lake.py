"""A feed's lake that is streamed now and then in a test's own process, as a new one would."""

import threading
from dataclasses import dataclass, field, replace

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lake_assets.errors import LakeAssetsError
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux import Demux
from lake_assets.silver.reprocess import Redo
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.noted_changes import reprocess_journal
from lake_assets.streams.pipeline import Pipeline, demux_journal
from lake_assets.streams.schemas import format_with
from lake_assets_tests.known_topic import NOWHERE


@dataclass(kw_only=True)
class StreamedLake:
    """Of a feed that asks neither a broker nor a registry."""

    spark: SparkSession
    settings: Settings
    feed: Feed
    reports: list = field(default_factory=list)

    def pipeline(self, context):
        return Pipeline(
            session=self.spark,
            endpoints=NOWHERE,
            context=context,
            stream=self.settings.stream,
            state_dir=self.settings.state_dir,
            report=self.reports.append,
        )

    def stream(self, feed=None):
        """As a process that has just started catches up; the feed's failure, if it has one."""
        with open_lake(self.settings, self.spark) as context:

            def note(_: str, problem: LakeAssetsError) -> None:
                streams.query_failure = problem

            streams = FeedStreams(
                pipeline=replace(self.pipeline(context), failed=note),
                settings=self.settings,
                feed=feed or self.feed,
                until_caught_up=True,
                announce=lambda _: None,
                stop=threading.Event(),
                goes_on=lambda: False,
            )
            streams.run()
            return streams.failure

    def redo(self, act):
        """A requeue or a rebuild."""
        with open_lake(self.settings, self.spark) as context:
            payload_format = format_with(self.settings, NOWHERE, self.feed, self.spark)
            demux = Demux(
                feed=self.feed,
                context=context,
                journal=demux_journal(self.settings.state_dir, self.feed),
                format=payload_format,
                schemas=payload_format,
                report=self.reports.append,
            )
            journal = reprocess_journal(context.lake, self.feed)
            return act(Redo(session=self.spark, demux=demux, journal=journal))

    def rows(self, table, *columns):
        """Of a table that need not be there yet."""
        folder = self.settings.lake_dir / table.relative
        if not DeltaTable.is_deltatable(str(folder)):
            return []
        found = DeltaTable(folder).to_pyarrow_table()
        return list(zip(*(found[name].to_pylist() for name in columns), strict=True))
