"""Ingest's micro-batch: rows of a topic, written once and committed once to `bronze_{feed}`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter

from pyspark.sql import DataFrame

from lake_assets.bronze import headers, rows
from lake_assets.lake.change import Batch, Commit
from lake_assets.lake.fanout import fan_out
from lake_assets.lake.journal import Journal
from lake_assets.lake.means import Means
from lake_assets.lake.writer import Layout, Target, WritePlan
from lake_assets.model.reports import BatchReport, Hop
from lake_assets.model.tables import bronze_of

_LAYOUT = Layout(
    schema=rows.FILE_SCHEMA,
    sources=tuple(rows.FILE_SCHEMA.names),
    parsers={"headers": headers.from_text},
)


@dataclass(frozen=True, kw_only=True)
class Ingest:
    """What `foreachBatch` calls for a feed's first hop."""

    feed: str
    means: Means
    journal: Journal
    report: Callable[[BatchReport], None]

    def prepare(self) -> None:
        """Create the bronze table if it is not there."""
        self.means.door.create({bronze_of(self.feed): rows.SCHEMA}, partition_by=[rows.PARTITION])

    def __call__(self, kafka: DataFrame, batch: Batch) -> None:
        """Land a micro-batch; a batch that runs again is finished from its journal (exactly once).

        Raises:
            LakeError: the lake cannot be written.
            CommitConflictError: another process ingests the same feed.
        """
        started = perf_counter()
        commits = self.journal.read(batch)
        if commits is None:
            commits = self._write(kafka)
            self.journal.write(batch, commits)
        written = perf_counter()
        self.means.door.append(commits, batch)
        self.report(
            BatchReport(
                feed=self.feed,
                hop=Hop.INGEST,
                batch_id=batch.version,
                rows={c.table.name: sum(f.rows for f in c.files) for c in commits},
                seconds={"job": written - started, "commit": perf_counter() - written},
                files=sum(len(c.files) for c in commits),
            )
        )

    def _write(self, kafka: DataFrame) -> list[Commit]:
        now = datetime.now(UTC)
        table = bronze_of(self.feed)
        target = Target(
            path=str(table.path(self.means.lake)),
            layout=self.feed,
            partition=f"{rows.PARTITION}={now.date().isoformat()}",
        )
        plan = WritePlan(
            targets=(target,), layouts={self.feed: _LAYOUT}, buffer_bytes=self.means.buffer_bytes
        )
        written = fan_out(rows.travelling(kafka), plan, lambda: rows.Landing(now)).written
        return [
            Commit(table=table, files=found.files, info={"rows": str(found.rows)})
            for found in written.values()
        ]
