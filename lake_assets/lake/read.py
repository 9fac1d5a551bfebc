"""Reading many tables as one DataFrame, by the files their logs name: one scan, not N plans."""

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def read_tables(session: SparkSession, handles: Sequence[DeltaTable]) -> DataFrame:
    """All rows of these unpartitioned tables; a column that a table or file lacks is null."""
    merged = from_arrow_schema(pa.unify_schemas([pa.schema(handle.schema()) for handle in handles]))
    files = [uri for handle in handles for uri in handle.file_uris()]
    if not files:
        return session.createDataFrame([], merged)
    return session.read.schema(merged).parquet(*files)
