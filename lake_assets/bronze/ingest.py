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
from lake_assets.bronze.offsets import another, is_another, next_offsets
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
from lake_assets.model.feeds import Feed
from lake_assets.model.owners import Owner
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets.model.tables import TableRef, bronze_of
from lake_assets.parquet.writer import Layout, Target, WritePlan
from lake_assets.sources.base import Source
from lake_assets.spark.fan_out import fan_out
from lake_assets.spark.lake_context import LakeContext


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

    def prepare(self) -> dict[int, int]:
        """Create the bronze table if it is not there, and find where its source is read next.

        What a feed declares counts once: the offsets that it comes to are recorded before the first
        row, so that `latest` is the end of the topic as it was then.

        Returns:
            By partition of the source, the offset to read next.

        Raises:
            SourceError: the source cannot be asked.
            StreamError: the source does not have what comes next.
            LakeError: the lake cannot be written.
        """
        extent, told = self.source.extent(), self.source.identity()
        owners = {self._table: Owner(feed=self.feed.feed)}
        self.context.committer.create(
            {self._table: rows.schema(self.source.columns)},
            partition_by=[rows.PARTITION],
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
        if is_other and recorded and recorded == self._begun(handle, recorded):
            have = {}  # nothing was read of the source that had the name before
        if have and is_other:
            raise another(self.feed.source.declared)
        if have:
            self._offsets = next_offsets(self.feed.source.declared, extent, have)
        else:
            self._offsets = self.source.first_offsets(extent)
        if self._offsets != recorded or told not in {None, identity}:
            # Where none is recorded, a partition was begun at 0.
            new = {p: at for p, at in self._offsets.items() if p not in have}
            begun = {p: at for p, at in new.items() if at or p in recorded}
            self._commit([], self._offsets, recorded, self._first(told, begun))
        return dict(self._offsets)

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
        """
        started = perf_counter()
        before, reached = self._offsets, {**self._offsets, **until}
        if reached == before:
            return  # a query begins with a batch, whether or not there are rows
        files = self._write(batch)
        written = perf_counter()
        self._commit(files, reached, before)
        self._offsets = reached
        self.report(
            BatchReport(
                feed=self.feed.feed,
                stage=Stage.INGEST,
                batch_id=self._number,
                rows={self._table.name: sum(file.rows for file in files)} if files else {},
                seconds={"job": written - started, "commit": perf_counter() - written},
                files=len(files),
                span=Span(
                    query=f"{self._app}:{self._bronze_id}",
                    offsets_from=before,
                    offsets_to=reached,
                ),
            )
        )

    def _begun(self, handle: DeltaTable, recorded: Mapping[int, int]) -> dict[int, int]:
        return self._by_partition(begun_offsets(handle, self._kind, self._placed(recorded)))

    @staticmethod
    def _by_partition(offsets: Offsets) -> dict[int, int]:
        return {partition: offset for (_, partition), offset in offsets.items()}

    def _by_rows(self, handle: DeltaTable) -> dict[int, int]:
        """Where a bronze table is whose commits do not tell: another release or engine made it."""
        files = active_files(handle)
        log, origin = log_of(self.context.lake, self._table), self.feed.source.origin
        offsets = offsets_of_rows(log, files, origin) if files else {}
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

    def _write(self, batch: DataFrame) -> list[DataFile]:
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
        written = fan_out(batch, plan, lambda: rows.Landing(now, is_framed)).written
        return [file for output in written.values() for file in output.files]
