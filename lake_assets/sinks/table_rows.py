"""Rows of a table's files in pieces of a few thousand, with all of the table's columns."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.delta.deletion_vectors import Mask, undeleted
from lake_assets.delta.table_log import TableLog
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.scan import rows_of_file

PIECE_ROWS = 4_096
"""Rows that are shaped at once: some 20 ms of this process, and a few MB."""


def pieces_of(
    log: TableLog,
    files: Sequence[DataFile],
    columns: pa.Schema,
    kept: Mapping[LakeUri, Mask],
    *,
    most: int = PIECE_ROWS,
) -> Iterator[pa.RecordBatch]:
    """The rows of some files of a table, in their order.

    Args:
        log: of the table.
        files: of it.
        columns: that each piece has; null where a file is older than one.
        kept: of files with deleted rows, which are still there.
        most: rows of a piece.
    """
    for file in files:
        place = log.data_file(file.path)
        batches = rows_of_file(log.store, place, columns.names)
        for rows in undeleted(batches, kept.get(place)):
            for start in range(0, rows.num_rows, most):
                yield _fitting(rows.slice(start, most), columns, file)


def _fitting(rows: pa.RecordBatch, columns: pa.Schema, file: DataFile) -> pa.RecordBatch:
    """Rows with all of a table's columns; null where a file is older than a column."""
    names = set(rows.schema.names)

    def column(wanted: pa.Field) -> pa.Array:
        if wanted.name in names:
            have = rows[wanted.name]
            return have if have.type == wanted.type else have.cast(wanted.type)
        value = file.partition.get(wanted.name)
        return pa.repeat(pa.scalar(value, pa.string()), rows.num_rows).cast(wanted.type)

    def absent(wanted: pa.Field) -> bool:
        return wanted.name not in names and file.partition.get(wanted.name) is None

    arrays = [pa.nulls(rows.num_rows, one.type) if absent(one) else column(one) for one in columns]
    plain = [pa.field(one.name, one.type) for one in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(plain))
