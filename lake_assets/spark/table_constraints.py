"""CHECK constraints, invariants and NOT NULL of a table, judged on the files it is about to get.

Their language is Spark's SQL, so Spark judges them. Which there are is told by
`delta.table_features`; tables without any cost nothing here.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.delta.commit import DataFile
from lake_assets.delta.table_features import features_of
from lake_assets.delta.table_paths import data_file, folder_of
from lake_assets.errors import ConstraintViolatedError, LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.conditions import holds
from lake_assets.spark.error_words import spark_words
from lake_assets.spark.read_tables import read_files


def ensure_met(
    session: SparkSession, handle: DeltaTable, files: Sequence[DataFile], columns: pa.Schema
) -> None:
    """Refuse files, of which there are some, with rows that violate a constraint of the table.

    Args:
        session: evaluates them.
        handle: the table.
        files: that it is about to get; they are there already.
        columns: that the table will have.

    Raises:
        ConstraintViolatedError: names the table, the constraint and how many rows.
        LakeError: a constraint cannot be evaluated.
    """
    features = features_of(handle)
    constraints = list(features.constraints.items())
    table = features.name
    rows = _rows(session, folder_of(handle), files, columns)
    try:
        counts = rows.select(*(F.count_if(~holds(sql)) for _, sql in constraints)).collect()[0]
    except PySparkException as problem:
        raise LakeError(
            table,
            f"its constraints cannot be evaluated on new rows ({spark_words(problem)})",
            f"Correct them: {', '.join(name for name, _ in constraints)}",
        ) from problem
    for (name, sql), violated in zip(constraints, counts, strict=True):
        if violated:
            raise ConstraintViolatedError(
                table,
                name,
                f"{violated} new rows violate its constraint {name!r} ({sql}); nothing of their "
                "batch was committed",
                "Make it an expectation of the feed with `action: quarantine`, so that such rows "
                "go to quarantine, or drop the constraint",
            )


def _rows(
    session: SparkSession, folder: LakeUri, files: Sequence[DataFile], columns: pa.Schema
) -> DataFrame:
    """The rows of new files, with the columns that their folders' names have."""
    by_partition: dict[tuple[tuple[str, str | None], ...], list[LakeUri]] = {}
    for file in files:
        # Those that have all columns are one scan, however many partitions there are.
        partition = () if file.has_all_columns else tuple(file.partition.items())
        by_partition.setdefault(partition, []).append(data_file(folder, file.path))
    frames = [
        _placed(read_files(session, paths, columns), partition)
        for partition, paths in by_partition.items()
    ]
    rows = frames[0]
    for more in frames[1:]:
        rows = rows.unionByName(more)
    return rows


def _placed(rows: DataFrame, partition: Iterable[tuple[str, str | None]]) -> DataFrame:
    for name, value in partition:
        rows = rows.withColumn(name, F.lit(value).cast(rows.schema[name].dataType))
    return rows
