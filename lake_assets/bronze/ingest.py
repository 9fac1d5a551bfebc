"""Ingest's micro-batch: rows of a source, written once and committed once to `bronze_{feed}`.

The commit records the source's offsets that bronze then has. They are where ingest goes on after a
restart, so a batch that dies before its commit is read again, and one that dies after it is not.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter

from deltalake import DeltaTable
from pyspark.sql import DataFrame

from lake_assets.bronze import rows
from lake_assets.bronze.batch_range import batch_range
from lake_assets.bronze.offsets import (
    Continuation,
    continuation,
    continuation_in_another,
    is_another,
)
from lake_assets.bronze.same_source import SameSource
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.conflicts import overtaken
from lake_assets.delta.data_files import active_files
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.source_offsets import (
    Offsets,
    begin_info,
    begun_offsets,
    begun_transactions,
    identity_app,
    offset_transactions,
    offsets_of_rows,
    table_offsets,
)
from lake_assets.delta.table_log import log_of
from lake_assets.logs.gaps import record_gaps
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import Gap
from lake_assets.model.owners import Owner
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets.model.tables import TableRef, bronze_of
from lake_assets.parquet.writer import Layout, Target, WritePlan
from lake_assets.sources.base import Source
from lake_assets.spark.fan_out import FanOut, Output, fan_out
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.batch_strikes import BatchRange


@dataclass(kw_only=True)
class Ingest:
    """A feed's first stage; it remembers how far bronze is, which its own commits say."""

    feed: Feed
    source: Source
    context: LakeContext
    report: Callable[[BatchReport], None]
    is_framed: bool = True
    """As `rows.Landing.is_framed`."""

    _offsets: dict[int, int] = field(default_factory=dict)
    _number: int = 0
    _bronze_id: str = ""
    _same: SameSource = field(init=False)

    def __post_init__(self) -> None:
        """Know nothing of the source yet."""
        self._same = SameSource(feed=self.feed, source=self.source, context=self.context)

    def prepare(self) -> dict[int, int]:
        """Create the bronze table if it is not there, and find where its source is read next.

        What a feed declares counts once: the offsets that it comes to are recorded before the first
        row, so that `latest` is the end of the topic as it was then.

        Returns:
            By partition of the source, the offset to read next.

        Raises:
            SourceError: the source cannot be asked.
            StreamError: the source does not have what comes next, and the feed is to stop then.
            LakeError: the lake cannot be written.
        """
        extent, generation = self.source.extent(), self.source.generation()
        declared, told = self.feed.source.declared, generation.identity
        owners = {self._table: Owner(feed=self.feed.feed)}
        self.context.committer.create(
            {self._table: rows.schema(self.source.columns)},
            partition_by={self._table: [rows.PARTITION]},
            owners=owners,
        )
        handle = self.context.committer.fresh(self._table)
        self.context.committer.accept_restores({self._table: handle})
        self._bronze_id = str(handle.metadata().id)
        self._number = handle.transaction_version(self._app) or 0
        recorded = self._by_partition(table_offsets(handle, self._kind, self._name))
        identity = handle.transaction_version(identity_app(self._kind, self._name))
        have = self._have(handle, recorded)
        is_other = is_another(identity, told)
        if is_other:  # of what had the name before, partitions that nothing was read of are new
            begun_at, ever = self._begun(handle, have), {**have, **recorded}
            have = {p: at for p, at in have.items() if begun_at[p] < max(at, ever[p])}
        there = {} if is_other else {p: at for p, at in have.items() if p in extent.ends}
        self._same.begin(generation, there)  # of partitions that are not, `continuation` tells
        if have and is_other:
            self._go_on(continuation_in_another(declared, extent, have, recorded))
        elif have:
            self._go_on(continuation(declared, extent, have, knows_all=bool(recorded)))
        else:
            self._offsets = self.source.first_offsets(extent)
        if self._offsets != recorded or told not in {None, identity}:
            # Where none is recorded, a partition was begun at 0.
            new = {p: at for p, at in self._offsets.items() if p not in have}
            begun = {p: at for p, at in new.items() if at or p in recorded}
            self._commit([], self._offsets, recorded, self._first(told, begun))
        return dict(self._offsets)

    def _go_on(self, found: Continuation) -> None:
        record_gaps(self.context, self.feed.feed, found.gaps, datetime.now(UTC))
        self._offsets = dict(found.starts)

    def _have(self, handle: DeltaTable, recorded: Mapping[int, int]) -> dict[int, int]:
        """By partition, the offset after the last that bronze has."""
        # After a RESTORE the rows are fewer than recorded: they are read again.
        log = log_of(self.context.lake, self._table)
        offsets = held_offsets(log, handle, self.feed.source.named(), self._placed(recorded))
        return self._by_partition(offsets) or self._by_rows(handle)

    def _first(self, identity: int | None, begun: Mapping[int, int]) -> list[Batch]:
        """What is recorded before the first row: which source it is, and where it is begun."""
        named = [] if identity is None else [Batch(identity_app(self._kind, self._name), identity)]
        return [*named, *begun_transactions(self._kind, self._placed(begun))]

    def __call__(self, batch: DataFrame, until: Mapping[int, int]) -> None:
        """Land a micro-batch.

        Args:
            batch: what the source reads, of the rows from where bronze is.
            until: by partition of the source, the offset after the last of them.

        Raises:
            LakeError: the lake cannot be written.
            CommitConflictError: another process ingests the same feed.
            StreamError: the source was created again meanwhile; nothing was committed.
            SourceError: it cannot be asked whether it was; likewise.
        """
        if not self.rows_until(until):
            return  # a query begins with a batch, whether or not there are rows
        started = perf_counter()
        output = self.output()
        landed = fan_out(batch, output.plan, output.transform)
        self.commit(landed, until, job_s=perf_counter() - started)

    def rows_until(self, until: Mapping[int, int]) -> int:
        """How many rows a micro-batch may have that ends there; less if the source has holes."""
        return sum(offset - self._offsets.get(p, 0) for p, offset in until.items())

    def commit(self, landed: FanOut, until: Mapping[int, int], *, job_s: float) -> list[DataFile]:
        """Make a micro-batch part of bronze that was written by `output`; raises as a call.

        Args:
            landed: what the job left.
            until: as in a call.
            job_s: seconds that the job took.

        Returns:
            The files that bronze has of it.
        """
        self._same.ensure(self._offsets)
        files = [file for output in landed.written.values() for file in output.files]
        return self._take(files, until, job_s=job_s)

    def _take(
        self, files: list[DataFile], until: Mapping[int, int], *, job_s: float
    ) -> list[DataFile]:
        written, before, reached = perf_counter(), self._offsets, {**self._offsets, **until}
        self._commit(files, reached, before)
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

    def range_until(self, until: Mapping[int, int]) -> BatchRange:
        """The batch that begins where bronze is; as `__call__`."""
        return batch_range(self._offsets, {**self._offsets, **until})

    def pass_over(
        self, until: Mapping[int, int], gaps: Sequence[Gap], files: list[DataFile]
    ) -> None:
        """Go on after some rows with a part of them; raises as `commit`.

        Args:
            until: by partition of the source, the offset to go on at.
            gaps: what is passed over, which is recorded first.
            files: what is not, written for bronze.
        """
        self._same.ensure(self._offsets)
        record_gaps(self.context, self.feed.feed, gaps, datetime.now(UTC))
        self._take(files, until, job_s=0.0)

    def judge(self, file: DataFile) -> None:
        """Refuse a file that bronze does not take; raises as `Committer.judge`."""
        found, batch = Commit(table=self._table, files=[file]), Batch(self._app, self._number + 1)
        self.context.committer.judge([found], batch)

    def _begun(self, handle: DeltaTable, recorded: Mapping[int, int]) -> dict[int, int]:
        return self._by_partition(begun_offsets(handle, self._kind, self._placed(recorded)))

    @staticmethod
    def _by_partition(offsets: Offsets) -> dict[int, int]:
        return {partition: offset for (_, partition), offset in offsets.items()}

    def _by_rows(self, handle: DeltaTable) -> dict[int, int]:
        """Where a bronze table is whose commits do not tell: another release or engine made it."""
        log, origin = log_of(self.context.lake, self._table), self.feed.source.origin
        offsets = offsets_of_rows(log, active_files(handle), origin)
        return {p: offset for (name, p), offset in offsets.items() if name == self._name}

    @property
    def _kind(self) -> str:
        return self.feed.source.declared.kind

    @property
    def _name(self) -> str:
        return self.feed.source.name

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
        reached: Mapping[int, int],
        before: Mapping[int, int],
        further: Sequence[Batch] = (),
    ) -> None:
        batch = Batch(self._app, self._number + 1)
        commit = Commit(
            table=self._table,
            files=files,
            info={
                "rows": str(sum(file.rows for file in files)),
                **(begin_info(self._placed(reached), self._placed(before)) if files else {}),
            },
            transactions=[
                *offset_transactions(self._kind, self._placed(reached), self._placed(before)),
                *further,
            ],
        )
        if self.context.committer.append([commit], batch):
            raise overtaken(self._table, f"it has batch {batch.version} already")
        self._number = batch.version

    def _placed(self, offsets: Mapping[int, int]) -> Offsets:
        return {(self._name, partition): offset for partition, offset in offsets.items()}

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
        is_framed = self.is_framed
        return Output(plan=plan, transform=lambda: rows.Landing(now, is_framed))
