"""A table that gets another layout: its files rewritten by other partition columns, in one commit.

Which layout is wanted is not decided here. Nobody may append by the former one meanwhile: it would
be refused.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import row_groups
from lake_assets.delta.conflicts import again_on_conflict
from lake_assets.delta.data_files import active_files
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError
from lake_assets.model.layouts import PartitionColumn
from lake_assets.model.tables import TableRef
from lake_assets.parquet.data_file import write_file, write_partitions
from lake_assets.parquet.partitioning import days, with_values

MADE_OF = b"lake_assets.made_of"
"""Key in the metadata of a column that a table has beside the rows' own: what it is made of."""

LAID_OUT = "lake_assets.partitioned_by"
"""Key in a commit's custom metadata: the layout that the table got by it."""

_TRIES = 3
"""Tries where another process changes the table meanwhile."""


def made_columns(partition_by: Sequence[PartitionColumn]) -> list[pa.Field]:
    """The columns that a table has beside the rows' own."""
    return [
        pa.field(one.name, pa.date32(), metadata={MADE_OF: one.expression.encode()})
        for one in partition_by
        if one.is_day
    ]


def without_made(columns: pa.Schema) -> pa.Schema:
    """Those of a table's columns that its rows brought."""
    return pa.schema([field for field in columns if MADE_OF not in (field.metadata or {})])


@again_on_conflict(_TRIES)
def lay_out(
    committer: Committer,
    table: TableRef,
    partition_by: Sequence[PartitionColumn],
    more: Sequence[pa.Field] = (),
) -> None:
    """Rewrite a table's files so that each has one value of the columns that partition it then.

    Columns of a former layout that no row brought go. A process that dies on its way leaves files
    that no reader sees.

    Args:
        committer: commits.
        table: has the columns that the new ones are made of, or gets them.
        partition_by: the new layout; empty for none.
        more: columns that the table gets, null in its rows.

    Raises:
        CommitConflictError: another process keeps changing the table.
        LakeError: the lake cannot be read or written.
        TableFeatureError: a table's features forbid it; the table is left as it is.
    """
    handle = committer.fresh(table)
    ensure_usable(handle, Use.READ, Use.REWRITE, Use.REPLACE)
    log, names = log_of(committer.store, table), [column.name for column in partition_by]
    have = pa.schema([*pa.schema(handle.schema().to_arrow()), *more])
    made = made_columns(partition_by)
    names_made = {field.name for field in made}
    own = pa.schema([field for field in without_made(have) if field.name not in names_made])
    columns = pa.schema([*own, *made])
    files: list[DataFile] = []
    try:
        for file in active_files(handle):
            for rows in _rows(log, file, have):
                files += _write(log, _made(rows.select(own.names), partition_by, columns), names)
        info = {LAID_OUT: ", ".join(column.expression for column in partition_by)}
        change = Commit(table=table, files=files, info=info, seen=handle.version())
        committer.replace([change], columns, names)
    except BaseException as problem:
        for written in files:
            log.store.delete(log.data_file(written.path))
        if isinstance(problem, FileNotFoundError):
            raise LakeError(
                table.name,
                f"lacks a file that its log names ({problem}), so it cannot be laid out anew",
                "Put the file back; or put the feed's `partition_by` back as it was, run "
                "`lake-assets rebuild silver`, and change it then",
            ) from problem
        raise


def _rows(log: TableLog, file: DataFile, columns: pa.Schema) -> Iterator[pa.Table]:
    """A file's rows with all columns, whether they are in it or only in the log."""
    for rows in row_groups(log, [file], columns):
        yield rows if file.has_all_columns else with_values(rows, file.partition)


def _made(rows: pa.Table, partition_by: Sequence[PartitionColumn], columns: pa.Schema) -> pa.Table:
    for one in partition_by:
        if one.is_day:
            rows = rows.append_column(one.name, days(rows[one.source]))
    return rows.select(columns.names).cast(columns)


def _write(log: TableLog, rows: pa.Table, by: Sequence[str]) -> Iterator[DataFile]:
    if not by:
        yield DataFile(**write_file(log.store, rows, log.folder))  # type: ignore[arg-type]
        return
    for values, written in write_partitions(log.store, rows, log.folder, by):
        yield DataFile(partition=values, **written)  # type: ignore[arg-type]
