"""All rows of a table, as Arrow in memory or as Spark reads them: for code that builds on a lake.

Which table, and under what name it is known, is for whoever asks.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef
from lake_assets.query.table_rows import TableReader
from lake_assets.spark.read_tables import read_tables
from lake_assets.storage.store import Store


def arrow_rows(
    lake: Store, table: TableRef, columns: Sequence[str] | None = None, *, step: str
) -> pa.Table:
    """The rows of a table at its newest version.

    Args:
        lake: that has it.
        table: which.
        columns: only these; all by default. Others are not read.
        step: what makes the table, for the error if it is not there.

    Raises:
        LakeError: it is not there yet, has no such column, or cannot be read.
    """
    handle = _opened(lake, table, step)
    _ensure_has(handle, table, columns)
    with tempfile.TemporaryDirectory(prefix="lake-assets-read-") as folder:
        reader = TableReader(scratch=Path(folder))
        with reader.closing:
            rows = reader.rows(log_of(lake, table), handle, columns or ())
            return rows.to_table(columns=None if columns is None else [*columns])


def spark_rows(
    session: SparkSession,
    lake: Store,
    table: TableRef,
    columns: Sequence[str] | None = None,
    *,
    step: str,
) -> DataFrame:
    """As `arrow_rows`, as a DataFrame: nothing is read before an action on it."""
    handle = _opened(lake, table, step)
    _ensure_has(handle, table, columns)
    rows = read_tables(session, [handle])
    return rows if columns is None else rows.select(*(f"`{name}`" for name in columns))


def _opened(lake: Store, table: TableRef, step: str) -> DeltaTable:
    handle = open_table(lake, table)
    if handle is None:
        raise LakeError(f"table {table.name}", "is not there yet", step)
    return handle


def _ensure_has(handle: DeltaTable, table: TableRef, columns: Sequence[str] | None) -> None:
    have = [field.name for field in handle.schema().fields]
    missing = [name for name in columns or () if name not in have]
    if missing:
        fact = f"has no column {missing[0]!r}"
        raise LakeError(f"table {table.name}", fact, f"It has {', '.join(have)}")
