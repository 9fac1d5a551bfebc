"""Joining small files of a table: new ones with the same rows take their place, in one commit each.

Which files are joined is decided by `maintenance.policy`. Whoever follows the table sees that no
row came or went; others may append meanwhile, and what they rewrite first is left to them. Tables
with deletion vectors are left as they are: who deleted rows so can purge them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.conflicts import again_on_conflict
from lake_assets.delta.data_files import active_files, path_like, stored_columns, written_at
from lake_assets.delta.deletion_vectors import has_deleted_rows, kept_rows
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.renamed_columns import Renames, under_newest
from lake_assets.delta.sorted_rows import sortable, sorted_rows
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.unused_writes import discard
from lake_assets.model.tables import TableRef
from lake_assets.parquet.bloom_filters import with_bloom_filters
from lake_assets.parquet.data_file import write_pieces
from lake_assets.parquet.partitioning import with_values
from lake_assets.parquet.read_file import opened

COMPACTED = "lake_assets.compacted"
"""Key in a commit's custom metadata: how many files it joined."""

_ROWS_AT_ONCE = 131_072
"""Rows that become a row group, some tens of MB in memory; small groups read slowly."""

_BYTES_AT_ONCE = 64 * 1024 * 1024
"""Of rows in memory, after which fewer of them become a row group."""

_SMALL_BYTES = 1024 * 1024
"""Of a file that is read in one piece."""

_SORTED_BYTES = 256 * 1024 * 1024
"""Of rows in memory that are put into an order; three times as much is used on the way."""

_TRIES = 20
"""Tries of a commit beside streams that commit each second."""


def joinable_files(committer: Committer, table: TableRef) -> list[tuple[DataFile, int]]:
    """A table's files, and when each was written, in milliseconds since 1970.

    None of a table that has deletion vectors, or partitions of bytes.

    Raises:
        LakeError: there is no such table, or its log cannot be read.
        TableFeatureError: a feature of the table forbids to join its files.
    """
    handle = committer.fresh(table)
    ensure_usable(handle, Use.READ, Use.COMPACT)
    columns = pa.schema(handle.schema().to_arrow())
    if any(pa.types.is_binary(columns.field(p).type) for p in handle.metadata().partition_columns):
        return []  # what a log says of their values is no text of Python's
    if has_deleted_rows(handle):
        return []
    return list(zip(active_files(handle), written_at(handle), strict=True))


def join_files(
    committer: Committer,
    table: TableRef,
    files: Sequence[DataFile],
    cluster_by: Sequence[str] = (),
    bloom_filters: Sequence[str] = (),
) -> bool:
    """Put one file in the place of several of one partition; whether they were still there.

    A process that dies on its way leaves a file that no reader sees.

    Args:
        committer: commits.
        table: whose files they are.
        files: of `joinable_files`.
        cluster_by: columns by which the rows are sorted, as far as the table has them; without,
            they stay in the order of the files.
        bloom_filters: columns of which the new file has filters, as far as it has them.

    Raises:
        CommitConflictError: others commit to the table all the time.
        LakeError: the lake cannot be read or written.
        TableFeatureError: a feature of the table forbids it; nothing has happened.
    """
    log = log_of(committer.store, table)
    handle = committer.fresh(table)
    columns = pa.schema(handle.schema().to_arrow())
    partition = files[0].partition
    if partition.keys() != {*handle.metadata().partition_columns}:
        return False  # laid out anew meanwhile
    # One that has all columns, if there is one: what the others lack is told by the log.
    like = next((file for file in files if file.has_all_columns), files[0])
    kept, path = stored_columns(columns, like), path_like(like)
    try:
        rows = _clustered(log, files, kept, sortable(kept, cluster_by))
        if partition and like.has_all_columns:
            rows = (with_values(piece, partition) for piece in rows)
        rows_of_group = min(sum(file.rows for file in files), _ROWS_AT_ONCE)
        kept = with_bloom_filters(kept, bloom_filters, rows_of_group)
        written = write_pieces(log.store, rows, kept, log.folder, path, partition)
    except FileNotFoundError:
        return False  # rewritten and vacuumed meanwhile
    joined = DataFile(partition=partition, **written)  # type: ignore[arg-type]
    # Whatever the settings ask: the files that it stands for will be deleted.
    log.store.sync(log.data_file(joined.path))
    commit = Commit(
        table=table,
        files=[joined],
        removed=tuple(files),
        info={COMPACTED: str(len(files))},
        is_rearrangement=True,
    )
    if put_unless_changed(committer, commit):
        return True
    discard(log, [joined])
    return False


@again_on_conflict(_TRIES)
def put_unless_changed(committer: Committer, commit: Commit) -> bool:
    """Commit, unless one of the files is gone or has deleted rows by now."""
    handle, log = committer.fresh(commit.table), log_of(committer.store, commit.table)
    deleted = kept_rows(log, handle)
    active = {file.path for file in active_files(handle)}
    if any(f.path not in active or log.data_file(f.path) in deleted for f in commit.removed):
        return False
    committer.replace_files([replace(commit, seen=handle.version())])
    return True


def _clustered(
    log: TableLog, files: Sequence[DataFile], columns: pa.Schema, by: Sequence[str]
) -> Iterator[pa.Table]:
    """As `row_groups`, in the order of some columns."""
    groups = row_groups(log, files, columns)
    if not by:
        yield from groups
        return
    first = next(groups, None)
    if first is None:
        return

    def pieces(names: Sequence[str] | None) -> Iterator[pa.Table]:
        wanted = columns if names is None else pa.schema([columns.field(name) for name in names])
        return row_groups(log, files, wanted)

    at_once = _SORTED_BYTES * first.num_rows // max(1, first.nbytes)
    del first
    yield from sorted_rows(pieces, by, at_once=at_once, group=_ROWS_AT_ONCE)


def row_groups(log: TableLog, files: Iterable[DataFile], columns: pa.Schema) -> Iterator[pa.Table]:
    """The rows of files, in pieces of a good size for reading."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for piece in filter(len, _pieces(log, files, columns.names)):
        held.append(piece)
        rows, size = rows + piece.num_rows, size + piece.nbytes
        if rows >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield _in_one(held, columns)
            held.clear()
            rows = size = 0
    if held:
        yield _in_one(held, columns)


def _in_one(pieces: Sequence[pa.RecordBatch], columns: pa.Schema) -> pa.Table:
    """Rows under the table's columns; those of files that have the same ones are told once."""
    alike = (pa.Table.from_batches(run) for _, run in groupby(pieces, key=lambda one: one.schema))
    return pa.concat_tables(
        under_newest(batch, columns, Renames())
        for table in alike
        for batch in table.combine_chunks().to_batches()
    )


def _pieces(
    log: TableLog, files: Iterable[DataFile], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    for file in files:
        place = log.data_file(file.path)
        if file.size <= _SMALL_BYTES:
            # A third of what a look into the file for each of its parts takes, and no threads.
            with opened(pa.BufferReader(log.store.get(place))) as rows:
                names = _named(rows, columns)
                yield from rows.read(names, use_threads=False).to_batches()
            continue
        with log.store.open_for_reading(place) as source, opened(source) as rows:
            names = _named(rows, columns)
            yield from rows.iter_batches(_ROWS_AT_ONCE, columns=names, use_threads=False)


def _named(rows: pq.ParquetFile, columns: Sequence[str]) -> list[str] | None:
    """Those of some columns that a file has; all if it has none, since the rows count then."""
    have = set(rows.schema_arrow.names)
    names = [name for name in columns if name in have]
    return names if names and len(names) < len(have) else None
