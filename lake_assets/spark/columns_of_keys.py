"""Silver's columns where views and checks read the tables of some keys."""

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.log_history import open_table
from lake_assets.model.feeds import Feed
from lake_assets.spark.read_tables import columns_of_all
from lake_assets.storage.store import Store


def columns_of_keys(lake: Store, feed: Feed, handles: Sequence[DeltaTable]) -> pa.Schema:
    """The columns that rows of some keys have; null in all of them where others' tables have one.

    Args:
        lake: where the tables are.
        feed: whose tables.
        handles: those of these keys.

    Raises:
        LakeError: a column has another type in one of these tables than in another.
    """
    own = columns_of_all(handles)
    if not feed.has_own_columns:
        return own
    found = (open_table(lake, feed.silver_table(key)) for key in keys_of(lake, feed))
    schemas = (pa.schema(handle.schema()) for handle in found if handle is not None)
    others = [pa.schema([c for c in schema if c.name not in own.names]) for schema in schemas]
    # Tables get wider one after the other, so another one's types may differ for a moment.
    return pa.schema([*own, *pa.unify_schemas(others, promote_options="permissive")])
