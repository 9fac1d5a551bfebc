"""Joining small files of a table: new ones with the same rows take their place, in one commit each.

Which files are joined is decided by `maintenance.policy`. Whoever follows the table sees that no
row came or went; others may append meanwhile, and what they rewrite first is left to them. Tables
with deletion vectors are left as they are: who deleted rows so can purge them.
"""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq
from tenacity import retry, retry_if_exception_type, stop_after_attempt

from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files, folder_in_table
from lake_assets.delta.deletion_vectors import kept_rows
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.renamed_columns import Renames, under_newest
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import CommitConflictError
from lake_assets.model.tables import TableRef
from lake_assets.parquet.writer import write_pieces

COMPACTED = "lake_assets.compacted"
"""Key in a commit's custom metadata: how many files it joined."""

_ROWS_AT_ONCE = 131_072
"""Rows that become a row group, some tens of MB in memory; small groups read slowly."""

_BYTES_AT_ONCE = 64 * 1024 * 1024
"""Of rows in memory, after which fewer of them become a row group."""

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
    if kept_rows(handle):
        return []
    actions = pa.table(handle.get_add_actions())
    written = dict(
        zip(actions["path"].to_pylist(), _milliseconds(actions["modification_time"]), strict=True)
    )
    return [(file, written.get(file.logged or file.path, 0)) for file in active_files(handle)]


def _milliseconds(times: pa.ChunkedArray) -> list[int]:
    numbers: list[int] = times.cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist()
    return numbers


def join_files(committer: Committer, table: TableRef, files: Sequence[DataFile]) -> bool:
    """Put one file in the place of several of one partition; whether they were still there.

    A process that dies on its way leaves a file that no reader sees.

    Args:
        committer: commits.
        table: whose files they are.
        files: of `joinable_files`.

    Raises:
        CommitConflictError: others commit to the table all the time.
        LakeError: the lake cannot be read or written.
        TableFeatureError: a feature of the table forbids it; nothing has happened.
    """
    log = log_of(committer.store, table)
    handle = committer.fresh(table)
    columns = pa.schema(handle.schema().to_arrow())
    partition = files[0].partition
    kept = pa.schema([field for field in columns if field.name not in partition])
    path = str(PurePosixPath(folder_in_table(files[0]), f"part-{uuid.uuid4()}.parquet"))
    try:
        written = write_pieces(log.store, _row_groups(log, files, kept), kept, log.folder, path)
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
    if _put(committer, commit):
        return True
    log.store.delete(log.data_file(joined.path))
    return False


@retry(
    retry=retry_if_exception_type(CommitConflictError),
    stop=stop_after_attempt(_TRIES),
    reraise=True,
)
def _put(committer: Committer, commit: Commit) -> bool:
    """Commit, unless one of the files is gone or has deleted rows by now."""
    handle, log = committer.fresh(commit.table), log_of(committer.store, commit.table)
    deleted = kept_rows(handle)
    active = {file.path for file in active_files(handle)}
    if any(f.path not in active or log.data_file(f.path) in deleted for f in commit.removed):
        return False
    committer.replace_files([replace(commit, seen=handle.version())])
    return True


def _row_groups(log: TableLog, files: Iterable[DataFile], columns: pa.Schema) -> Iterator[pa.Table]:
    """The rows of files, in pieces of a good size for reading."""
    held: list[pa.Table] = []
    rows = size = 0
    for piece in _pieces(log, files, columns):
        held.append(piece)
        rows, size = rows + piece.num_rows, size + piece.nbytes
        if rows >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield pa.concat_tables(held)
            held.clear()
            rows = size = 0
    if held:
        yield pa.concat_tables(held)


def _pieces(log: TableLog, files: Iterable[DataFile], columns: pa.Schema) -> Iterator[pa.Table]:
    for file in files:
        with (
            log.store.open_for_reading(log.data_file(file.path)) as source,
            pq.ParquetFile(source) as rows,
        ):
            for batch in rows.iter_batches(_ROWS_AT_ONCE):
                yield under_newest(batch, columns, Renames())
