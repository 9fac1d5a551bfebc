"""The rows that one of a query's names stands for, as Spark reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.model.feeds import Feed
from lake_assets.model.queries import SILVER, SILVER_ALL, QuerySource
from lake_assets.model.tables import STATE
from lake_assets.spark.read_tables import columns_of_all, read_tables

_TABLE = "#table"
"""string: the table of a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceRows:
    """What a query reads under one of its names."""

    source: QuerySource
    handles: tuple[DeltaTable, ...]
    """The tables, at the versions that the refresh stands for."""

    columns: pa.Schema
    """Of the tables of all keys: a column that one key lacks is null in its rows."""


def columns_of_source(handles: Sequence[DeltaTable]) -> pa.Schema:
    """The columns that a query sees of tables: without what refreshes keep for themselves."""
    columns = columns_of_all(handles)
    return pa.schema([field for field in columns if not field.name.startswith(STATE)])


def read_source(session: SparkSession, feed: Feed, rows: SourceRows) -> DataFrame:
    """The rows, of a feed's query.

    Rows of all keys' tables of a view tell their key by the feed's route column, or by `key` where
    that is not read from a column, as a string, unless the view has that column itself.

    Raises:
        FeedError: the query reads a feed or a view that is not declared.
        TableFeatureError: a table cannot be read here.
    """
    whose = feed.feed_of(rows.source.feed)
    view = whose.view(rows.source.view) if rows.source.view else None
    route = whose.view_key_column
    names = {name.lower() for name in rows.columns.names}
    if view is None or view.is_over_all or rows.source.is_of_key or not route or route in names:
        return read_tables(session, rows.handles, rows.columns)
    found = read_tables(session, rows.handles, rows.columns, named=_TABLE)
    before, after = whose.tables.around_key(view.name)
    table = F.col(f"`{_TABLE}`")
    key = F.substring(table, len(before) + 1, F.length(table) - len(before) - len(after))
    return found.select(key.alias(route), *(f"`{name}`" for name in rows.columns.names))


def view_name(source: QuerySource, index: int) -> str:
    """What a query's source is called in the session of the query: a plain identifier."""
    if source.is_plain:
        return SILVER if source.is_of_key else SILVER_ALL
    return f"_source_{index}"
