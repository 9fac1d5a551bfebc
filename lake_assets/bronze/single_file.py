"""A file of bronze written here, without Spark: for few rows, which Spark failed at."""

from datetime import UTC, datetime

import pyarrow as pa

from lake_assets.bronze import rows as bronze_rows
from lake_assets.delta.commit import DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.formats.confluent.framing import IdReader
from lake_assets.model.tables import TableRef
from lake_assets.parquet.data_file import write_file
from lake_assets.spark.lake_context import LakeContext


def landed(rows: pa.Table, source: pa.Schema, *, ids: IdReader | None) -> pa.Table:
    """Rows of a source as bronze has them, its partition aside.

    Args:
        rows: of a source, all its columns.
        source: those columns.
        ids: as `rows.Landing.ids`.
    """
    landing = bronze_rows.Landing(datetime.now(UTC), ids)
    schema = bronze_rows.file_schema(source)
    parts = [part.select(schema.names) for part in landing(rows.combine_chunks().to_batches())]
    return pa.Table.from_batches(parts, schema)


def write_landed(context: LakeContext, table: TableRef, rows: pa.Table) -> DataFile:
    """Write what `landed` made to a file that no commit names yet.

    Raises:
        LakeError: the lake cannot be written.
    """
    key, value = bronze_rows.PARTITION, datetime.now(UTC).date().isoformat()
    folder = log_of(context.lake, table).folder
    written = write_file(context.lake, rows, folder, f"{key}={value}")
    return DataFile(partition={key: value}, **written)  # type: ignore[arg-type]
