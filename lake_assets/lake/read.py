"""Reading many tables as one DataFrame, by the files their logs name: one scan, not N plans."""

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def read_tables(
    session: SparkSession, handles: Sequence[DeltaTable], columns: pa.Schema | None = None
) -> DataFrame:
    """All rows of these unpartitioned tables; a column that a table or file lacks is null.

    Args:
        session: whose DataFrame it becomes.
        handles: the tables, at the versions to read.
        columns: what the rows have; the columns of these tables by default.
    """
    files = [uri for handle in handles for uri in handle.file_uris()]
    return read_files(session, files, columns_of_all(handles) if columns is None else columns)


def read_files(session: SparkSession, files: Sequence[str], columns: pa.Schema) -> DataFrame:
    """All rows of these Parquet files; a column that a file lacks is null."""
    schema = from_arrow_schema(columns)
    if not files:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(*files)


def columns_of_all(handles: Sequence[DeltaTable]) -> pa.Schema:
    """The columns that any of the tables has."""
    return pa.unify_schemas([pa.schema(handle.schema()) for handle in handles])
