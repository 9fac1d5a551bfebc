"""The half of the fan-out that runs in Spark's workers: rows in, Parquet files and a manifest out.

Knows nothing of Spark, Delta's log or what the rows mean. A file without a commit is invisible to
every reader, so a task that dies costs nothing but room; one that fails gives that back.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.data_file import put_file, put_partitions
from lake_assets.parquet.partitioning import as_text
from lake_assets.parquet.uploads import Uploads
from lake_assets.storage.store import Store

TABLE = "#table"
"""int: index into `WritePlan.targets`; rows with null are not written. The internal columns start
with a character that no protobuf or Avro field can have, so they never hide a user's column."""

UNRESOLVED = "#unresolved"
"""string, optional: what the driver must find out before the row can be placed; mostly null."""

MANIFEST = pa.schema(
    [
        pa.field("target", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("rows", pa.int64()),
        pa.field("stats", pa.string()),
        pa.field("partition", pa.string()),
        pa.field("unresolved", pa.string()),
        pa.field("note", pa.string()),
    ]
)
"""One row a file; and one row a distinct unresolved question or a note, with nothing else set."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a family of tables, and which columns of the rows they are taken from."""

    schema: pa.Schema
    sources: tuple[str, ...]
    parsers: Mapping[str, Callable[[pa.Array], pa.Array]] = field(default_factory=dict)
    """By column: how to make it from a source that travels in another form."""

    partition_by: tuple[str, ...] = ()
    """Columns of which a file has one value each; a batch has a file for each that it has."""

    def select(self, rows: pa.Table) -> pa.Table:
        """These columns of `rows`, in their order and types."""
        arrays = [
            self.parsers[name](rows[source].combine_chunks())
            if name in self.parsers
            else rows[source]
            for name, source in zip(self.schema.names, self.sources, strict=True)
        ]
        return pa.table(arrays, names=self.schema.names).cast(self.schema)


@dataclass(frozen=True, slots=True)
class Target:
    """A table that rows may go to."""

    folder: LakeUri
    """Of the table."""

    layout: str
    """Which of `WritePlan.layouts` its rows have."""

    partition: str = ""
    """Folder below the table's, where a batch lies in one partition (`day=2026-11-21`)."""

    prefix: str = "part"
    """How its files' names begin."""


Beside: TypeAlias = Callable[[int, pa.Table, str], None]
"""Takes the index of a target, the rows of a file and its path below the target's folder."""


@dataclass(frozen=True)
class WritePlan:
    """What a writing task must know; pickled once a job."""

    store: Store
    """Of the targets' folders."""

    targets: tuple[Target, ...]
    layouts: Mapping[str, Layout]
    buffer_bytes: int
    beside: Beside | None = None
    """Called with each file that is not split by partition columns, as it is written."""


_COPIES = 2
"""Times that a flush holds its rows at once: as they came and in one piece, then sorted. Once more
where one of the tables is partitioned."""


def write_task(batches: Iterable[pa.RecordBatch], plan: WritePlan) -> Iterator[pa.RecordBatch]:
    """Write one task's rows: sorted by table, one file a table and flush; yield the manifest.

    What it allocates stays below `plan.buffer_bytes`, however skewed the rows are and however large
    one batch is; beside it are the batch that is being taken and what Parquet encodes of one file.
    A buffer is full when its `_COPIES`th part is.
    """
    with TaskWriter(plan) as writer:
        for batch in batches:
            yield from writer.add(batch)
        yield from writer.finish()


class TaskWriter:
    """What `write_task` does, for whoever has the rows piece by piece.

    Its files are deleted if its `with` block fails: a full disk would get fuller by each try.
    """

    def __init__(self, plan: WritePlan) -> None:
        """Hold nothing yet."""
        self._plan = plan
        is_split = any(layout.partition_by for layout in plan.layouts.values())
        self._limit = max(1, plan.buffer_bytes // (_COPIES + is_split))
        self._pieces: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._uploads = Uploads(plan.store)

    def __enter__(self) -> Self:
        """Begin."""
        self._uploads.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Delete what was written, if the block failed."""
        self._uploads.__exit__(kind)

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take some rows; the manifest of what had to be written to make room."""
        for piece in _cut(batch, self._limit):
            if self._pieces and self._held_bytes + piece.nbytes > self._limit:
                yield from self.finish()
            self._pieces.append(piece)
            self._held_bytes += piece.nbytes

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Write what is held; its manifest."""
        if self._pieces:
            yield _flush(self._pieces, self._plan, self._uploads)
        self._held_bytes = 0


def _cut(batch: pa.RecordBatch, limit: int) -> Iterator[pa.RecordBatch]:
    """Slices of a batch that have about `limit` bytes at most, and one row at least."""
    count = min(batch.num_rows, -(-batch.nbytes // limit))
    if count <= 1:
        yield batch
        return
    bounds = np.linspace(0, batch.num_rows, count + 1).astype(int)
    for start, end in pairwise(bounds):
        yield batch.slice(int(start), int(end - start))


def notes_of(notes: Iterable[str]) -> pa.RecordBatch:
    """A manifest of notes alone."""
    return pa.RecordBatch.from_pylist([{"note": note} for note in notes], schema=MANIFEST)


def _flush(held: list[pa.RecordBatch], plan: WritePlan, uploads: Uploads) -> pa.RecordBatch:
    """Write what is held, and let go of it on the way."""
    rows = pa.Table.from_batches(held)
    held.clear()
    questions = _questions(rows)
    if questions:
        # The driver runs the batch again once it has the answers; files would only be deleted.
        return pa.RecordBatch.from_pylist(questions, schema=MANIFEST)
    keys = rows[TABLE].fill_null(_NOWHERE).to_numpy()
    if len(keys) and keys[0] != _NOWHERE and (keys == keys[0]).all():
        manifest = _write_group(rows, int(keys[0]), plan, uploads)
    else:
        # In one piece, since rows of many chunks are slow to take; what came is freed by that.
        rows = rows.combine_chunks()
        groups = _groups(rows, keys)
        manifest = [f for target, g in groups for f in _write_group(g, target, plan, uploads)]
    uploads.settle()
    return pa.RecordBatch.from_pylist(manifest, schema=MANIFEST)


def _questions(rows: pa.Table) -> list[dict[str, object]]:
    if UNRESOLVED not in rows.column_names or rows[UNRESOLVED].null_count == rows.num_rows:
        return []
    return [
        {"unresolved": question} for question in pc.unique(rows[UNRESOLVED]).to_pylist() if question
    ]


_NOWHERE = -1
"""Stands for a null in `TABLE`."""


def _groups(rows: pa.Table, keys: npt.NDArray[np.int32]) -> Iterator[tuple[int, pa.Table]]:
    """Slices of `rows` that go to one target each; rows without a target are left out."""
    order = np.argsort(keys, kind="stable")
    order = order[np.searchsorted(keys[order], 0) :]
    if not len(order):
        return
    placed = keys[order]
    rows = rows.take(pa.array(order))
    starts = np.concatenate(([0], np.flatnonzero(np.diff(placed)) + 1, [len(placed)]))
    for start, end in pairwise(starts):
        yield int(placed[start]), rows.slice(int(start), int(end - start))


def _write_group(
    rows: pa.Table, index: int, plan: WritePlan, uploads: Uploads
) -> list[dict[str, object]]:
    target = plan.targets[index]
    layout = plan.layouts[target.layout]
    columns, by = layout.select(rows), layout.partition_by
    if not by:
        file = put_file(uploads, columns, target.folder, target.partition, target.prefix)
        if plan.beside is not None:
            plan.beside(index, columns, str(file["path"]))
        return [{"target": index, **file}]
    return [
        {"target": index, "partition": as_text(values), **file}
        for values, file in put_partitions(uploads, columns, target.folder, by)
    ]
