"""How Spark, Trino, Athena and Hive know a Delta table by what Hive's metastore has of it. Pure.

Glue's Data Catalog has the same fields.
"""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote

from lake_assets.catalog.entries import PREFIX, CatalogTable, shortened

EXTERNAL = "EXTERNAL_TABLE"
INPUT_FORMAT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"

_ENGINES: Mapping[str, str] = {
    "EXTERNAL": "TRUE",
    "classification": "delta",
    "spark.sql.sources.provider": "delta",
    "table_type": "DELTA",
}
"""By which engines know a Delta table."""

_TYPES = {"timestamp_ntz": "timestamp", "void": "string", "variant": "binary"}
"""Spark's types that Hive lacks; who reads the table goes by Delta's log."""


def parameters(table: CatalogTable, before: Mapping[str, str]) -> dict[str, str]:
    """A table's parameters, with those that others had added to them."""
    others = {name: value for name, value in before.items() if not name.startswith(PREFIX)}
    return {**others, **_ENGINES, **table.properties}


def serde_parameters(table: CatalogTable) -> dict[str, str]:
    """Where Spark and Trino look for the table."""
    return {"path": table.location, "serialization.format": "1"}


def in_hive_words(table: CatalogTable, longest_comment: int) -> CatalogTable:
    """A table with types that Hive has, and comments in one line of so many characters at most.

    Its place is written as Hadoop takes it, which is not encoded: `%20` would be three characters
    of a folder's name.
    """
    return replace(
        table,
        location=unquote(table.location),
        columns=tuple(
            replace(
                one,
                type=_TYPES.get(one.type, one.type),
                comment=shortened(" ".join(one.comment.split()), longest_comment),
            )
            for one in table.columns
        ),
    )
