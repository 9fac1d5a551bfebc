"""Expectations counted again over what is in silver, in one Spark job for all asked-for keys.

Rows that an expectation dropped never came into silver, so a `drop` expectation finds none here:
this tells what the tables hold, while the streams' counts tell what came in.
"""

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lake_assets.delta.log_history import open_table
from lake_assets.model.expectations import Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.judged_rows import as_judged
from lake_assets.model.reports import Judged
from lake_assets.settings.schema import Settings
from lake_assets.spark.columns_of_keys import columns_of_keys
from lake_assets.spark.conditions import holds
from lake_assets.spark.key_column import key_column, named_for_keys
from lake_assets.spark.lent_session import LendSpark, session_for
from lake_assets.spark.read_tables import read_tables
from lake_assets.storage.open_store import lake_of

_KEY = "#key"
_SEEN = "#seen"


def recheck(
    settings: Settings, feed: Feed, keys: Sequence[str], lend: LendSpark | None = None
) -> dict[tuple[str, str], Judged]:
    """Count by key and expectation how many silver rows there are and how many violate it.

    A key without a silver table has no rows.

    Raises:
        LakeAssetsError: Spark or the lake cannot be used.
    """
    tables = {key: open_table(lake_of(settings), feed.silver_table(key)) for key in keys}
    handles = {key: handle for key, handle in tables.items() if handle is not None}
    nothing = {
        (key, expectation.name): Judged(seen=0, violated=0)
        for key in keys
        for expectation in feed.expectations
        if expectation.concerns(key)
    }
    if not handles or not nothing:
        return nothing
    with session_for(settings, lend) as session:
        opened = list(handles.values())
        columns = columns_of_keys(lake_of(settings), feed, opened)
        return nothing | count(session, feed, opened, columns)


def count(
    session: SparkSession, feed: Feed, handles: Sequence[DeltaTable], columns: pa.Schema
) -> dict[tuple[str, str], Judged]:
    """As `recheck`, with Spark started and the tables open; keys without rows are left out."""
    violated = [
        F.count_if(~holds(expectation.sql)).alias(_violated(expectation))
        for expectation in as_judged(feed, columns.names)
    ]
    key = key_column(feed).alias(_KEY)
    seen = F.count(F.lit(1)).alias(_SEEN)
    rows = read_tables(session, handles, columns, named=named_for_keys(feed))
    counted = rows.groupBy(key).agg(seen, *violated)
    return {
        (row[_KEY], expectation.name): Judged(seen=row[_SEEN], violated=row[_violated(expectation)])
        for row in counted.collect()
        for expectation in feed.expectations
        if expectation.concerns(row[_KEY])
    }


def _violated(expectation: Expectation) -> str:
    return f"#violates_{expectation.name}"
