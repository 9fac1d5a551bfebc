"""Batches handed from one Python stage of a Spark task to the next, past the JVM.

Spark evaluates SQL between two Python stages, and all that the second stage needs of a row has to
travel through the JVM and back, row by row. A relay lets only the columns travel that the SQL reads
and the ones it makes; whole batches lie meanwhile in files beside the task, and both halves meet
again by their order, which a projection keeps. Docs: `docs/performance.md`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles, TaskContext


def send(batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """First stage: keep each batch for `receive`, and let `columns` of it travel.

    To be called in a Spark task, at most once a task.
    """
    folder = _folder()
    folder.mkdir()
    numbers = count()
    for batch in batches:
        if batch.num_rows:
            _store(folder / str(next(numbers)), batch)
            yield batch.select(list(columns))


def receive(rows: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Second stage: each batch that `send` kept, beside what became of its rows, in order.

    Args:
        rows: what a projection made of the rows that travelled; sliced in any way.

    Raises:
        RuntimeError: rows are missing or came in addition, so it was no projection.
    """
    folder = _folder()
    held = pa.Table.from_batches([], schema=pa.schema([]))
    numbers = count()
    kept: pa.RecordBatch | None = None
    for more in rows:
        arrived = pa.Table.from_batches([more])
        held = pa.concat_tables([held, arrived]) if held.num_rows else arrived
        while held.num_rows:
            if kept is None:
                kept = _fetch(folder / str(next(numbers)))
            if held.num_rows < kept.num_rows:
                break
            (made,) = held.slice(0, kept.num_rows).combine_chunks().to_batches()
            held = held.slice(kept.num_rows)
            yield kept, made
            kept = None
    if kept is not None or (folder.exists() and any(folder.iterdir())):
        raise RuntimeError(f"rows were lost between two stages of a task ({folder})")
    if folder.exists():
        folder.rmdir()


def _folder() -> Path:
    """Of this attempt of this task, on the machine both stages run on; Spark removes its parent."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("a relay works in a Spark task only")
    return Path(SparkFiles.getRootDirectory()) / f"relay-{context.taskAttemptId()}"


def _store(path: Path, batch: pa.RecordBatch) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema) as stream:
        stream.write_batch(batch)


def _fetch(path: Path) -> pa.RecordBatch:
    """The batch, still backed by its file, which has no name any more."""
    batch = pa.ipc.open_stream(pa.memory_map(str(path))).read_next_batch()
    path.unlink()
    return batch
