"""Rows of a table that is derived again, as Spark reads them: the feed's own, with their origin."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.delta.commit import DataFile
from lake_assets.delta.origins import columns_in
from lake_assets.delta.table_log import TableLog
from lake_assets.model.origins import FEED, IDENTITY_PARTS, OriginColumns
from lake_assets.spark.read_tables import read_files


def own_rows(
    session: SparkSession,
    log: TableLog,
    columns: pa.Schema,
    files: Sequence[DataFile],
    origin: OriginColumns,
) -> DataFrame:
    """A feed's rows in some files of a table, the origin's columns as bronze calls them.

    Columns of silver that are called like that are left out.

    Args:
        session: reads them.
        log: of the table.
        columns: of the table.
        files: of it.
        origin: the feed's columns that say where a row came from, and whose it is.
    """
    named, whose = columns_in(columns.names, origin), origin.whose
    rows = read_files(session, [log.data_file(file.path) for file in files], columns)
    if whose is not None and named == origin.in_silver:
        if FEED in columns.names:
            nobody = F.lit(whose.feed if whose.has_unnamed else "")
            rows = rows.where(F.coalesce(F.col(FEED), nobody) == whose.feed)
        elif not whose.has_unnamed:
            rows = rows.limit(0)
    parts = [(getattr(named, part), getattr(origin, part)) for part in IDENTITY_PARTS]
    # A source without partitions has rows in tables that have some.
    renamed = {name: bronze for name, bronze in parts if name and bronze and name != bronze}
    # What was decoded may be called as bronze calls these.
    taken = {*renamed.values()}
    rows = rows.drop(*(name for name in columns.names if name.lower() in taken))
    return rows.withColumnsRenamed(renamed)
