"""Batches handed from one Python stage of a Spark task to the next, past the JVM.

Spark evaluates SQL between two Python stages, and all that the second stage needs of a row has to
travel through the JVM and back, row by row. A spill lets only that travel which the SQL reads, and
what it makes of it; whole batches lie meanwhile in files beside the task, and both halves meet
again by their order, which a projection keeps. Docs: `docs/performance.md`.
"""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles, TaskContext

_TRAVELLING = b"travelling"
"""Key in a stored batch's metadata: how many rows were sent with it."""

_SCHEMA = b"schema"
"""Key in a stored batch's metadata: the columns that it had when it came."""


def send(
    batches: Iterable[tuple[pa.RecordBatch, pa.RecordBatch]], name: str = "batches"
) -> Iterator[pa.RecordBatch]:
    """First stage: of each pair, keep the first for `receive`, and let the second travel.

    To be called in a Spark task, at most once a task and name. What travels may have another number
    of rows than what is kept, but some.
    """
    folder = _folder(name)
    folder.mkdir()
    for number, (kept, evaluated_columns) in enumerate(batches):
        _store(folder / str(number), kept, evaluated_columns.num_rows)
        yield evaluated_columns


def receive(
    rows: Iterable[pa.RecordBatch], name: str = "batches"
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Second stage: each batch that `send` kept, and what became of the rows sent with it.

    Args:
        rows: what a projection made of the rows that travelled; sliced in any way.
        name: of the spill, as `send` has it.

    Raises:
        RuntimeError: rows are missing or came in addition, so it was no projection.
    """
    folder = _folder(name)
    pending = pa.Table.from_batches([], schema=pa.schema([]))
    numbers = count()
    kept: pa.RecordBatch | None = None
    travelled = 0
    for more in rows:
        arrived = pa.Table.from_batches([more])
        pending = pa.concat_tables([pending, arrived]) if pending.num_rows else arrived
        while pending.num_rows:
            if kept is None:
                kept, travelled = _fetch(folder / str(next(numbers)))
            if pending.num_rows < travelled:
                break
            (made,) = pending.slice(0, travelled).combine_chunks().to_batches()
            pending = pending.slice(travelled)
            yield kept, made
            kept = None
    if kept is not None or (folder.exists() and any(folder.iterdir())):
        raise RuntimeError(f"rows were lost between two stages of a task ({folder})")
    if folder.exists():
        folder.rmdir()


def _folder(name: str) -> Path:
    """Of this attempt of this task, on the machine both stages run on; Spark removes its parent."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("batches are spilled in a Spark task only")
    return Path(SparkFiles.getRootDirectory()) / f"spill-{name}-{context.taskAttemptId()}"


def _store(path: Path, batch: pa.RecordBatch, evaluated_columns: int) -> None:
    """Write a batch without the columns that are null throughout: a good row has several."""
    filled = [name for name in batch.schema.names if batch[name].null_count < batch.num_rows]
    noted = batch.select(filled).replace_schema_metadata(
        {_TRAVELLING: str(evaluated_columns), _SCHEMA: batch.schema.serialize().to_pybytes()}
    )
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, noted.schema) as stream:
        stream.write_batch(noted)


def _fetch(path: Path) -> tuple[pa.RecordBatch, int]:
    """The batch, still backed by its file, which has no name any more; and how many rows travel."""
    stored = pa.ipc.open_stream(pa.memory_map(str(path))).read_next_batch()
    path.unlink()
    noted = stored.schema.metadata
    schema = pa.ipc.read_schema(pa.py_buffer(noted[_SCHEMA]))
    filled = set(stored.schema.names)
    arrays = [
        stored[field.name] if field.name in filled else pa.nulls(stored.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema), int(noted[_TRAVELLING])
