"""The half of the fan-out that runs in Spark's workers: rows in, Parquet files and a manifest out.

Knows nothing of Spark, Delta's log or what the rows mean. A file without a commit is invisible to
every reader, so a task that dies costs nothing.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lake_assets.parquet.encoding import encodings
from lake_assets.parquet.stats import file_stats
from lake_assets.storage.store import Store
from lake_assets.storage.uri import LakeUri

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
        pa.field("unresolved", pa.string()),
        pa.field("note", pa.string()),
    ]
)
"""One row a file; and one row a distinct unresolved question or a note, with nothing else set."""


_SMALL_BYTES = 256 * 1024
"""Of a file's rows in memory, below which Snappy writes it: zstd would make it a third smaller, but
sets up a context a page, which takes as long as all the rest of a small file."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a family of tables, and which columns of the rows they are taken from."""

    schema: pa.Schema
    sources: tuple[str, ...]
    parsers: Mapping[str, Callable[[pa.Array], pa.Array]] = field(default_factory=dict)
    """By column: how to make it from a source that travels in another form."""

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


@dataclass(frozen=True)
class WritePlan:
    """What a writing task must know; pickled once a job."""

    store: Store
    """Of the targets' folders."""

    targets: tuple[Target, ...]
    layouts: Mapping[str, Layout]
    buffer_bytes: int


_COPIES = 2
"""Times that a flush holds its rows at once: as they came and in one piece, then sorted."""


def write_task(batches: Iterable[pa.RecordBatch], plan: WritePlan) -> Iterator[pa.RecordBatch]:
    """Write one task's rows: sorted by table, one file a table and flush; yield the manifest.

    What it allocates stays below `plan.buffer_bytes`, however skewed the rows are and however large
    one batch is; beside it are the batch that is being taken and what Parquet encodes of one file.
    A buffer is full when its `_COPIES`th part is.
    """
    limit = max(1, plan.buffer_bytes // _COPIES)
    pieces: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        for piece in _cut(batch, limit):
            if pieces and held_bytes + piece.nbytes > limit:
                yield _flush(pieces, plan)
                held_bytes = 0
            pieces.append(piece)
            held_bytes += piece.nbytes
    if pieces:
        yield _flush(pieces, plan)


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


def _flush(held: list[pa.RecordBatch], plan: WritePlan) -> pa.RecordBatch:
    """Write what is held, and let go of it on the way: `held` is empty afterwards."""
    rows = pa.Table.from_batches(held)
    held.clear()
    questions = _questions(rows)
    if questions:
        # The driver runs the batch again once it has the answers; files would only be deleted.
        return pa.RecordBatch.from_pylist(questions, schema=MANIFEST)
    keys = rows[TABLE].fill_null(_NOWHERE).to_numpy()
    if len(keys) and keys[0] != _NOWHERE and (keys == keys[0]).all():
        manifest = [_write_group(rows, int(keys[0]), plan)]
    else:
        # In one piece, since rows of many chunks are slow to take; what came is freed by that.
        rows = rows.combine_chunks()
        manifest = [_write_group(g, target, plan) for target, g in _groups(rows, keys)]
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


def _write_group(rows: pa.Table, index: int, plan: WritePlan) -> dict[str, object]:
    target = plan.targets[index]
    columns = plan.layouts[target.layout].select(rows)
    return {
        "target": index,
        **write_file(plan.store, columns, target.folder, target.partition, target.prefix),
    }


def write_file(
    store: Store, rows: pa.Table, folder: LakeUri, partition: str = "", prefix: str = "part"
) -> dict[str, object]:
    """Write one new file of a table: its `path` below `folder`, `size`, `rows` and `stats`."""
    name = f"{prefix}-{uuid.uuid4()}.parquet"
    relative = f"{partition}/{name}" if partition else name
    if rows.nbytes >= _SMALL_BYTES:
        return write_pieces(store, [rows], rows.schema, folder, relative)
    # Encoded in memory first: a few hundred bytes a column are not worth a call each.
    sink = pa.BufferOutputStream()
    footer, with_nan = _encode(sink, [rows], rows.schema, "snappy")
    content = sink.getvalue()
    with store.open_for_writing(folder / relative) as stream:
        stream.write(content)
    return _written(relative, content.size, footer, with_nan)


def write_pieces(
    store: Store, pieces: Iterable[pa.Table], schema: pa.Schema, folder: LakeUri, relative: str
) -> dict[str, object]:
    """Write a file piece by piece, with one piece in memory at a time; as `write_file` else."""
    with store.open_for_writing(folder / relative) as stream:
        sink = pa.PythonFile(stream, mode="w")
        footer, with_nan = _encode(sink, pieces, schema, "zstd")
        size = sink.tell()
    return _written(relative, size, footer, with_nan)


def _encode(
    sink: pa.NativeFile, pieces: Iterable[pa.Table], schema: pa.Schema, codec: str
) -> tuple[pq.FileMetaData, set[str]]:
    """Write Parquet; its footer, and the columns that have NaN."""
    footers: list[pq.FileMetaData] = []
    with_nan: set[str] = set()
    writer = pq.ParquetWriter(
        sink,
        schema,
        metadata_collector=footers,
        store_schema=False,
        compression=codec,
        compression_level=1 if codec == "zstd" else None,
        **encodings(schema),
    )
    try:
        for piece in pieces:
            writer.write_table(piece)
            with_nan |= _with_nan(piece)
    except BaseException:
        # Closing what failed fails in words of its own, and those of a full disk are waited for.
        with suppress(Exception):
            writer.close()
        raise
    writer.close()
    return footers[0], with_nan


def _written(
    relative: str, size: int, footer: pq.FileMetaData, with_nan: set[str]
) -> dict[str, object]:
    return {
        "path": relative,
        "size": size,
        "rows": footer.num_rows,
        "stats": file_stats(footer, with_nan),
    }


def _with_nan(rows: pa.Table) -> set[str]:
    floats = [field.name for field in rows.schema if pa.types.is_floating(field.type)]
    return {name for name in floats if pc.any(pc.is_nan(rows[name])).as_py()}
