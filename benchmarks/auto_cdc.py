"""The definitions of a declarative pipeline with an AUTO CDC flow a table.

It is run by `auto_cdc_run` in a process of its own; starting that is `auto_cdc_peer`'s business.
"""

import json
from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession


def declare(spark: SparkSession, tables: Path) -> None:
    """Declare a keyed table for each folder of changes that a JSON file names."""
    for name, changes in json.loads(tables.read_text()).items():
        _declare(spark, name, changes)


def _declare(spark: SparkSession, name: str, changes: str) -> None:
    source = f"{name}_changes"

    @dp.temporary_view(name=source)
    def changes_of_table() -> DataFrame:
        return spark.readStream.format("delta").load(changes).select("id", "version", "op", "value")

    dp.create_streaming_table(name=name)
    dp.create_auto_cdc_flow(
        target=name,
        source=source,
        keys=["id"],
        sequence_by="version",
        apply_as_deletes="op = 'D'",
        except_column_list=["op"],
        stored_as_scd_type=1,
    )
