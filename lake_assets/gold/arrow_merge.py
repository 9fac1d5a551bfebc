"""Small gains merged into small views where their files lie: a task a share of the keys.

A key's new rows and its view are read, merged and written by one task, so nothing is shuffled and
Spark plans nothing but the tasks. What may be merged so is `gold.arrow_mergeable`'s to say of a
view and `gold.view_heads`' of a key; all else is `gold.job`'s.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from lake_assets.delta.commit import DataFile
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.gold.arrow_aggregates import ArrowAggregates, NotMergeableError
from lake_assets.gold.buckets import prefix_of
from lake_assets.gold.refresh_plan import RefreshPlan, Rewritten
from lake_assets.gold.view_heads import SmallGain
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.writer import TABLE, Layout, Target, WritePlan
from lake_assets.spark.fan_out import fan_out
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.scan import numbered, rows_of_file, share, shared
from lake_assets.spark.task_slots import task_slots
from lake_assets.storage.store import Store

_ROWS_A_FILE = 8_000
"""Rows that take as long to merge as it takes to open a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """What a task reads to merge one key."""

    target: int
    """Index into the plan's targets."""

    aggregates: ArrowAggregates
    silver_files: tuple[LakeUri, ...]
    gold_files: tuple[LakeUri, ...]


class Merging:
    """A `spark.fan_out.RowTransform`: numbers of shares become the keys' refreshed views."""

    def __init__(self, lake: Store, shares: Sequence[Sequence[Piece]]) -> None:
        """Merge the pieces of each share."""
        self._lake = lake
        self._shares = shares
        self._unsure: list[int] = []

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows to write."""
        for piece in shared(batches, self._shares):
            yield from self._merge(piece)

    def notes(self) -> Iterable[str]:
        """Targets of the pieces that Spark must merge."""
        return map(str, self._unsure)

    def _merge(self, piece: Piece) -> list[pa.RecordBatch]:
        aggregates = piece.aggregates
        new = _read(self._lake, piece.silver_files, aggregates.sources)
        gold = _read(self._lake, piece.gold_files, aggregates.columns.names)
        try:
            rows = aggregates.merged(new, gold)
        except NotMergeableError:
            self._unsure.append(piece.target)
            return []
        place = pa.repeat(pa.scalar(piece.target, pa.int32()), rows.num_rows)
        return list(rows.append_column(TABLE, place).combine_chunks().to_batches())


def merge_in_arrow(
    session: SparkSession, gains: Sequence[SmallGain], context: LakeContext
) -> list[Rewritten]:
    """Rewrite the keys' views, in one job of a task a core.

    A key of which only Spark can tell what its rows come to is left out, and so nothing of it is
    written. For those that gained no rows nothing is written either.
    """
    gained = [gain for gain in gains if gain.plan.silver_files]
    files, unsure = _write(session, gained, context) if gained else ({}, set())
    # One bucket: all of its files give way, or there are none where silver gained no rows.
    return [
        gain.plan.rewritten(files.get(gain.plan.source.key, ()), gain.plan.touched(()))
        for gain in gains
        if gain.plan.source.key not in unsure
    ]


def _write(
    session: SparkSession, gains: Sequence[SmallGain], context: LakeContext
) -> tuple[dict[str, list[DataFile]], set[str]]:
    """By key, new files; and the keys that Spark must merge."""
    keys = [gain.plan.source.key for gain in gains]
    logs = [log_of(context.lake, gain.plan.source.gold_table) for gain in gains]
    plan = WritePlan(
        store=context.lake,
        targets=tuple(
            Target(folder=log.folder, layout=gain.plan.columns, prefix=prefix_of(0))
            for gain, log in zip(gains, logs, strict=True)
        ),
        layouts={
            gain.plan.columns: Layout(
                schema=gain.aggregates.columns, sources=tuple(gain.aggregates.columns.names)
            )
            for gain in gains
        },
        buffer_bytes=context.buffer_bytes,
    )
    pieces = [
        (_piece(index, gain, logs[index]), _load(gain.plan)) for index, gain in enumerate(gains)
    ]
    tasks = context.refresh_tasks or task_slots(session)
    shares, lake = share(pieces, tasks), context.lake
    left = fan_out(numbered(session, shares), plan, lambda: Merging(lake, shares))
    files = {keys[index]: written.files for index, written in left.written.items()}
    return files, {keys[int(note)] for note in left.notes}


def _piece(target: int, one: SmallGain, gold: TableLog) -> Piece:
    return Piece(
        target=target,
        aggregates=one.aggregates,
        silver_files=one.plan.silver_files,
        gold_files=tuple(gold.data_file(file.path) for file in one.plan.gold_files),
    )


def _load(work: RefreshPlan) -> int:
    """What a key costs a task, in rows."""
    files = len(work.silver_files) + len(work.gold_files)
    return work.rows_read + sum(file.rows for file in work.gold_files) + files * _ROWS_A_FILE


def _read(lake: Store, files: Iterable[LakeUri], columns: Sequence[str]) -> Iterator[pa.Table]:
    for file in files:
        for batch in rows_of_file(lake, file, columns):
            yield pa.Table.from_batches([batch])
