"""Rows for a job's tasks: from Spark, or read by the tasks themselves from a table's files.

Python tasks that need whole columns read Parquet several times faster than Spark can hand it to
them, row by row (docs/performance.md): no row passes through the JVM. Which files they are is the
caller's to say.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from lake_assets.delta.deletion_vectors import Mask, undeleted
from lake_assets.delta.origins import RowSet
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.arrow_types import without_views
from lake_assets.parquet.read_file import opened, reading
from lake_assets.storage.at_once import at_once
from lake_assets.storage.store import Store

_Piece = TypeVar("_Piece")
Read: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
"""Makes rows of what Spark hands to a task."""

_BATCH_ROWS = 65_536
"""Rows that are read at once: as many as Spark's own Arrow batches have here."""

_BATCH_BYTES = 64 * 1024 * 1024
"""Bytes that are read at once, by the mean of a row group; one of `parquet.writer`'s files has no
larger row group than its buffer, so a batch of rows that are all above the mean is bounded, too."""

_KNOWN_ROWS = 10_000_000
"""Rows of which nobody needs to know how many more there are."""

_FOOTERS = 64
"""Files whose footers are read before it is asked whether that is enough."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a job is given."""

    frame: DataFrame
    """What Spark hands to the tasks."""

    read: Read = iter
    """Makes the rows of it, in a task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScannedFile:
    """A Parquet file that one task reads."""

    file: LakeUri
    size: int
    """Bytes."""

    rows: int | None = None
    """If the log tells how many."""

    kept: Mask | None = None
    """If rows of it are deleted, which are still there (`delta.deletion_vectors`)."""


def scan(
    session: SparkSession,
    lake: Store,
    files: Sequence[ScannedFile],
    columns: Sequence[str],
    *,
    tasks: int,
    keep: RowSet | None = None,
) -> Rows:
    """Rows of some Parquet files, read where they are needed.

    Args:
        session: runs the tasks.
        lake: where the files are.
        files: each is read by one task.
        columns: which of their columns.
        tasks: how many share them, if there are as many files.
        keep: which of the rows, whose columns have their origin; all by default.
    """
    shares = share([(file, file.size) for file in files], tasks)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file in shared(batches, shares):
            for rows in undeleted(rows_of_file(lake, file.file, columns, file.size), file.kept):
                yield rows if keep is None else _kept(rows, keep)

    return Rows(numbered(session, shares), read)


def _kept(rows: pa.RecordBatch, keep: RowSet) -> pa.RecordBatch:
    return rows.filter(pa.array(keep.mask(pa.Table.from_batches([rows]))))


def rows_in(lake: Store, files: Iterable[ScannedFile]) -> int:
    """How many rows the files have, by the log or else their footers; many, if they have many."""
    rows, untold = 0, []
    for file in files:
        if file.rows is None:
            untold.append(file)
        else:
            rows += file.rows
    while untold and rows < _KNOWN_ROWS:
        some, untold = untold[:_FOOTERS], untold[_FOOTERS:]
        rows += sum(at_once(lake, partial(_rows_of_footer, lake), some))
    return rows


def _rows_of_footer(lake: Store, file: ScannedFile) -> int:
    with lake.open_for_reading(file.file) as source:
        return int(pq.read_metadata(source).num_rows)


def share(pieces: Sequence[tuple[_Piece, int]], tasks: int) -> list[list[_Piece]]:
    """Pieces of work and their sizes, dealt out to tasks that have about the same to do."""
    tasks = max(1, min(tasks, len(pieces)))
    shares: list[list[_Piece]] = [[] for _ in range(tasks)]
    loads = [0] * tasks
    for piece, size in sorted(pieces, key=lambda one: -one[1]):
        least = loads.index(min(loads))
        shares[least].append(piece)
        loads[least] += size
    return shares


def numbered(session: SparkSession, shares: Sequence[object]) -> DataFrame:
    """The numbers of some shares, each in a task of its own."""
    return session.range(0, len(shares), 1, len(shares))


def shared(
    batches: Iterable[pa.RecordBatch], shares: Sequence[Sequence[_Piece]]
) -> Iterator[_Piece]:
    """In a task, the pieces of the shares whose numbers it was given."""
    for batch in batches:
        for number in batch["id"].to_pylist():
            yield from shares[number]


def rows_of_file(
    lake: Store, place: LakeUri, columns: Sequence[str], size: int | None = None
) -> Iterator[pa.RecordBatch]:
    """A Parquet file's rows in batches that are bounded; columns that it lacks are left out.

    It costs a bucket fewer requests if the file's `size` in bytes is known.
    """
    with reading(lake, place, size) as source, opened(source) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            fitting = _BATCH_BYTES * group.num_rows // max(1, group.total_byte_size)
            batches = file.iter_batches(
                batch_size=max(1, min(_BATCH_ROWS, fitting)),
                row_groups=[number],
                columns=list(columns),
                use_threads=False,
            )
            yield from map(without_views, batches)
