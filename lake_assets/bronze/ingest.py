"""Ingest's micro-batch: rows of a source, written once and committed once to `bronze_{feed}`.

The commit records the source's offsets that bronze then has. They are where ingest goes on after a
restart, so a batch that dies before its commit is read again, and one that dies after it is not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter

from deltalake import DeltaTable
from pyspark.sql import DataFrame

from lake_assets.bronze import rows
from lake_assets.bronze.batch_range import batch_range
from lake_assets.bronze.begin import begin_of, held_of
from lake_assets.bronze.erased_again import erased_from
from lake_assets.bronze.same_source import SameSource
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.conflicts import overtaken
from lake_assets.delta.origins import Within
from lake_assets.delta.source_offsets import (
    awaited_app,
    begin_info,
    identity_app,
    offset_transactions,
)
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SourceNotFoundError, StreamError
from lake_assets.formats.confluent.framing import IdReader, schema_ids
from lake_assets.logs.gaps import record_gaps
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import Gap
from lake_assets.model.origins import ByPlace, Place
from lake_assets.model.owners import Owner
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets.model.tables import TableRef, bronze_of
from lake_assets.parquet.writer import Layout, Target, WritePlan
from lake_assets.sources.base import Source
from lake_assets.spark.fan_out import FanOut, Output, fan_out
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.batch_strikes import BatchRange
from lake_assets.state.fresh_erasures import FreshErasures


@dataclass(kw_only=True)
class Ingest:
    """A feed's first stage; it remembers how far bronze is, which its own commits say."""

    feed: Feed
    source: Source
    context: LakeContext
    report: Callable[[BatchReport], None]
    ids: IdReader | None = schema_ids
    """As `rows.Landing.ids`."""

    _offsets: dict[Place, int] = field(default_factory=dict)
    _named: set[str] = field(default_factory=set)
    """Sources of which bronze records which they are, as far as they tell."""

    _number: int = 0
    _bronze_id: str = ""
    _same: SameSource = field(init=False)
    _erasures: FreshErasures = field(init=False)

    def __post_init__(self) -> None:
        """Know nothing of the source yet."""
        self._same = SameSource(feed=self.feed, source=self.source, context=self.context)
        self._erasures = FreshErasures(ledger=self.context.erasures, feed=self.feed.feed)

    def prepare(self) -> dict[Place, int]:
        """Create the bronze table if it is not there, and find where its sources are read next.

        What a feed declares counts once: the offsets that it comes to are recorded before the first
        row, so that `latest` is the end of the topic as it was then.

        Returns:
            By name and partition of what is there, the offset to read next.

        Raises:
            SourceError: the source cannot be asked, or one that bronze has rows of is gone, and the
                feed is to stop then.
            StreamError: the source does not have what comes next, and the feed is to stop then.
            LakeError: the lake cannot be written.
        """
        try:
            extent = self.source.extent()
        except SourceNotFoundError:
            self._await_first()
            raise
        generation = self.source.generation(extent.names)
        handle = self._opened()
        log = log_of(self.context.lake, self._table)
        held = held_of(self.feed, log, handle, extent, generation)
        # Of partitions that are not there, and of other sources, `begin_of` tells.
        self._same.begin(generation, held.there(extent))
        begin = begin_of(self.source, self.feed, handle, held, extent, generation)
        record_gaps(self.context, self.feed.feed, begin.gaps, datetime.now(UTC))
        self._offsets, self._named = begin.starts, {*extent.names}
        if begin.starts != begin.recorded or begin.transactions:
            self._commit([], begin.starts, begin.recorded, begin.transactions)
        return dict(self._offsets)

    def _opened(self) -> DeltaTable:
        """The bronze table, created if it is not there."""
        self.context.committer.create(
            {self._table: rows.schema(self.source.columns)},
            partition_by={self._table: [rows.PARTITION]},
            owners={self._table: Owner(feed=self.feed.feed)},
        )
        handle = self.context.committer.fresh(self._table)
        self._ensure_of_its_kind(handle)
        self.context.committer.accept_restores({self._table: handle})
        self._bronze_id = str(handle.metadata().id)
        self._number = handle.transaction_version(self._app) or 0
        return handle

    def _ensure_of_its_kind(self, handle: DeltaTable) -> None:
        """Refuse bronze that has rows of another kind of source, under other columns."""
        has = {field.name for field in handle.schema().fields}
        lacking = [name for name in self.feed.source.origin.names if name not in has]
        if lacking:
            raise StreamError(
                self._table.name,
                f"has rows of another kind of source than {self.feed.source.declared.title}: it "
                f"lacks {', '.join(lacking)}",
                "Read this source under another feed's name, or `into` the same tables",
            )

    def _await_first(self) -> None:
        """Record that the feed has begun though a pattern found nothing: what comes is read."""
        app = awaited_app(self._kind)
        if self.feed.source.declared.names or self._opened().transaction_version(app) is not None:
            return
        self._commit([], {}, {}, [Batch(app, 1)])

    def __call__(self, batch: DataFrame, until: ByPlace) -> None:
        """Land a micro-batch.

        Args:
            batch: what the source reads, of the rows from where bronze is.
            until: by name and partition, the offset after the last of them.

        Raises:
            LakeError: the lake cannot be written.
            CommitConflictError: another process ingests the same feed.
            StreamError: a source was created again meanwhile; nothing was committed.
            SourceError: it was deleted, or cannot be asked; likewise.
        """
        if not self.rows_until(until):
            return  # a query begins with a batch, whether or not there are rows
        started = perf_counter()
        output = self.output()
        landed = fan_out(batch, output.plan, output.transform)
        self.commit(landed, until, job_s=perf_counter() - started)

    def rows_until(self, until: ByPlace) -> int:
        """How many rows a micro-batch may have that ends there; less if the source has holes."""
        return sum(offset - self._offsets.get(p, 0) for p, offset in until.items())

    def commit(self, landed: FanOut, until: ByPlace, *, job_s: float) -> list[DataFile]:
        """Make a micro-batch part of bronze that was written by `output`; raises as a call.

        Args:
            landed: what the job left.
            until: as in a call.
            job_s: seconds that the job took.

        Returns:
            The files that bronze has of it.
        """
        self._same.ensure(self._offsets, until)
        files = [file for output in landed.written.values() for file in output.files]
        return self._take(files, until, job_s=job_s)

    def _take(self, files: list[DataFile], until: ByPlace, *, job_s: float) -> list[DataFile]:
        written, before, reached = perf_counter(), self._offsets, {**self._offsets, **until}
        self._commit(files, reached, before, self._identities(until))
        self._offsets = reached
        self.report(
            BatchReport(
                feed=self.feed.feed,
                stage=Stage.INGEST,
                batch_id=self._number,
                rows={self._table.name: sum(file.rows for file in files)} if files else {},
                seconds={"job": job_s, "commit": perf_counter() - written},
                files=len(files),
                span=Span(
                    query=f"{self._app}:{self._bronze_id}",
                    offsets_from=before,
                    offsets_to=reached,
                ),
            )
        )
        return files

    def _identities(self, until: ByPlace) -> list[Batch]:
        """What is recorded of sources that came while the streams run: which they are."""
        new = {name for name, _ in until} - self._named
        self._named |= new
        known = {name: self._same.identities.get(name) for name in sorted(new)}
        return [
            Batch(identity_app(self._kind, name), number)
            for name, number in known.items()
            if number is not None
        ]

    def ensure_there(self, until: ByPlace) -> None:
        """Make sure that the sources that a micro-batch ends in are still there.

        Raises:
            SourceNotFoundError: one is not.
            SourceError: they cannot be asked.
        """
        self._same.ensure_there({name for name, _ in until})

    def range_until(self, until: ByPlace) -> BatchRange:
        """The batch that begins where bronze is; as `__call__`."""
        return batch_range(self._offsets, {**self._offsets, **until})

    def pass_over(self, until: ByPlace, gaps: Sequence[Gap], files: list[DataFile]) -> None:
        """Go on after some rows with a part of them; raises as `commit`.

        Args:
            until: by name and partition, the offset to go on at.
            gaps: what is passed over, which is recorded first.
            files: what is not, written for bronze.
        """
        self._same.ensure(self._offsets, until)
        record_gaps(self.context, self.feed.feed, gaps, datetime.now(UTC))
        self._take(files, until, job_s=0.0)

    def judge(self, file: DataFile) -> None:
        """Refuse a file that bronze does not take; raises as `Committer.judge`."""
        found, batch = Commit(table=self._table, files=[file]), Batch(self._app, self._number + 1)
        self.context.committer.judge([found], batch)

    @property
    def _kind(self) -> str:
        return self.feed.source.kind

    @property
    def _layout(self) -> Layout:
        schema = rows.file_schema(self.source.columns)
        return Layout(schema=schema, sources=tuple(schema.names), parsers=dict(self.source.parsers))

    @property
    def _table(self) -> TableRef:
        return bronze_of(self.feed.feed)

    @property
    def _app(self) -> str:
        return f"lake_assets:ingest:{self.feed.feed}"

    def _commit(
        self,
        files: list[DataFile],
        reached: ByPlace,
        before: ByPlace,
        further: Sequence[Batch] = (),
    ) -> None:
        batch = Batch(self._app, self._number + 1)
        commit = Commit(
            table=self._table,
            files=files,
            info={
                "rows": str(sum(file.rows for file in files)),
                **(begin_info(reached, before) if files else {}),
            },
            transactions=[
                *offset_transactions(self._kind, reached, before),
                *further,
            ],
        )
        if self.context.committer.append([commit], batch):
            raise overtaken(self._table, f"it has batch {batch.version} already")
        self._number = batch.version

    def output(self) -> Output:
        """How a micro-batch's rows are written that are taken now."""
        now = datetime.now(UTC)
        target = Target(
            folder=log_of(self.context.lake, self._table).folder,
            layout=self.feed.feed,
            partition=f"{rows.PARTITION}={now.date().isoformat()}",
        )
        plan = WritePlan(
            store=self.context.lake,
            targets=(target,),
            layouts={self.feed.feed: self._layout},
            buffer_bytes=self.context.buffer_bytes,
        )
        ids, erased = self.ids, self.erased_again()
        return Output(plan=plan, transform=lambda: rows.Landing(now, ids, erased))

    def erased_again(self) -> Within | None:
        """Rows that may come next and are erased; bronze is not to have them."""
        return erased_from(self._erasures.look().spans, self._offsets, self.feed.source.origin)
