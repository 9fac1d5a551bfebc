"""Reading many tables as one DataFrame, by the files their logs name: one scan, not N plans."""

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def merged_columns(handles: Sequence[DeltaTable]) -> pa.Schema:
    """The columns of all these tables."""
    return pa.unify_schemas([pa.schema(handle.schema()) for handle in handles])


def read_tables(
    session: SparkSession, handles: Sequence[DeltaTable], columns: pa.Schema | None = None
) -> DataFrame:
    """All rows of these unpartitioned tables; a column that a table or file lacks is null.

    Args:
        session: whose DataFrame it becomes.
        handles: the tables, at the versions to read.
        columns: what the rows have; the columns of these tables by default.
    """
    wanted = from_arrow_schema(merged_columns(handles) if columns is None else columns)
    files = [uri for handle in handles for uri in handle.file_uris()]
    if not files:
        return session.createDataFrame([], wanted)
    return session.read.schema(wanted).parquet(*files)
