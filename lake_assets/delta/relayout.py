"""A table that gets another layout: its files rewritten by other partition columns, in one commit.

Which layout is wanted is not decided here. Nobody may append by the former one meanwhile: it would
be refused.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.commit import LAID_OUT, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import row_groups
from lake_assets.delta.conflicts import again_on_conflict
from lake_assets.delta.data_files import active_files
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.renamed_columns import (
    Renames,
    marked,
    under_newest,
    without_stale_marks,
)
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_layout import brought, made_columns, with_days, without_made
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.unused_writes import discarded_if_not_made, discarded_on_failure
from lake_assets.errors import LakeError, first_line
from lake_assets.model.layouts import PartitionColumn
from lake_assets.model.tables import TableRef
from lake_assets.parquet.data_file import write_file, write_partitions
from lake_assets.parquet.partitioning import untold, with_values

_TRIES = 3
"""Tries where another process changes the table meanwhile."""

_STEP = (
    "Put the file back; or put the feed's `partition_by` back as it was, run `lake-assets rebuild "
    "silver`, and change it then"
)
"""What to do about a file that is gone or torn: a rebuild derives its rows again."""


@again_on_conflict(_TRIES)
def lay_out(
    committer: Committer,
    table: TableRef,
    partition_by: Sequence[PartitionColumn],
    more: Sequence[pa.Field] = (),
    renames: Renames | None = None,
) -> int:
    """Rewrite a table's files so that each has one value of the columns that partition it then.

    Columns of a former layout that no row brought go; a day takes the place of a column that has
    its very values, or none, such as one of an engine that keeps no word on what it is made of. A
    process that dies on its way leaves files that no reader sees.

    Args:
        committer: commits.
        table: has the columns that the new ones are made of, or gets them.
        partition_by: the new layout; empty for none.
        more: columns of rows that the table gets; null in those that are there, but for values
            under older names.
        renames: older names of columns, whose values rows have under the newest, too.

    Returns:
        How many values of the new partition columns became null, since a log cannot tell them.

    Raises:
        CommitConflictError: another process keeps changing the table.
        LakeError: the lake cannot be read or written, or rows brought other values under the name
            that a day is to have.
        TableFeatureError: a table's features forbid it; the table is left as it is.
    """
    handle = committer.fresh(table)
    ensure_usable(handle, Use.READ, Use.REWRITE, Use.REPLACE)
    log, names = log_of(committer.store, table), [column.name for column in partition_by]
    have, older = pa.schema(handle.schema().to_arrow()), renames or Renames()
    made = made_columns(partition_by)
    theirs = without_made(have).names
    in_place = [one for one in partition_by if one.is_day and one.name in theirs]
    stays = [name for name in theirs if name not in {column.name for column in made}]
    came = [brought(column) if column.name in have.names else column for column in more]
    own = marked(pa.schema([*map(have.field, stays), *came]), older)
    columns = pa.schema([*without_stale_marks(own, older), *made])
    files: list[DataFile] = []
    lost = 0
    try:
        with discarded_on_failure(log, files):
            for file in active_files(handle):
                for rows in _rows(log, file, have):
                    for batch in rows.combine_chunks().to_batches():
                        kept = under_newest(batch.select(stays), own, older)
                        made_anew = _made(kept, partition_by, columns)
                        _ensure_nothing_goes(table, batch, made_anew, in_place)
                        lost += untold(made_anew, names)
                        files += _write(log, made_anew, names)
    except FileNotFoundError as problem:
        raise LakeError(
            table.name,
            f"lacks a file that its log names ({problem}), so it cannot be laid out anew",
            _STEP,
        ) from problem
    with discarded_on_failure(log, files):
        # Whatever the settings ask: the files that they stand for will be deleted.
        for file in files:
            log.store.sync(log.data_file(file.path))
    info = {LAID_OUT: ", ".join(column.expression for column in partition_by)}
    change = Commit(table=table, files=files, info=info, seen=handle.version())
    with discarded_if_not_made(log, files):
        committer.replace([change], columns, names)
    return lost


def _rows(log: TableLog, file: DataFile, columns: pa.Schema) -> Iterator[pa.Table]:
    """A file's rows with all columns, whether they are in it or only in the log."""
    try:
        for rows in row_groups(log, [file], columns):
            yield rows if file.has_all_columns else with_values(rows, file.partition)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as problem:
        fact = f"cannot be read ({first_line(problem)}), so its table cannot be laid out anew"
        raise LakeError(str(log.data_file(file.path)), fact, _STEP) from problem


def _made(rows: pa.Table, partition_by: Sequence[PartitionColumn], columns: pa.Schema) -> pa.Table:
    made = with_days(rows, (one for one in partition_by if one.is_day))
    return made.select(columns.names).cast(columns)


def _ensure_nothing_goes(
    table: TableRef, rows: pa.RecordBatch, made_anew: pa.Table, in_place: Sequence[PartitionColumn]
) -> None:
    for one in in_place:
        theirs, day = pa.chunked_array([rows[one.name]]), made_anew[one.name]
        is_same = theirs.type == day.type and pc.equal(theirs, day).fill_null(fill_value=False)
        if pc.any(pc.invert(pc.or_(pc.is_null(theirs), is_same))).as_py():
            raise LakeError(
                table.name,
                f"has a column {one.name}, whose values are not the days of {one.source} and would "
                "be lost",
                f"Give the day another name in `partition_by`: {{other_name: {one.expression}}}",
            )


def _write(log: TableLog, rows: pa.Table, by: Sequence[str]) -> Iterator[DataFile]:
    if not by:
        yield DataFile(**write_file(log.store, rows, log.folder))  # type: ignore[arg-type]
        return
    for values, written in write_partitions(log.store, rows, log.folder, by):
        yield DataFile(partition=values, **written)  # type: ignore[arg-type]
