"""Columns that a feed declares, beside those that its tables have already."""

import pyarrow as pa

from lake_assets.errors import LakeError
from lake_assets.formats.schema_merge import Mismatch, merge


def with_declared(feed: str, have: pa.Schema, declared: pa.Schema) -> pa.Schema:
    """The columns that the tables have, with the declared ones, of the wider type of both.

    Raises:
        LakeError: a declared one does not go with the one that is there.
    """
    columns = merge(have, declared)
    if isinstance(columns, Mismatch):
        raise LakeError(
            f"silver of feed {feed!r}",
            f"column {columns.path} is {columns.have}, and declared as {columns.came}",
            "Declare it as it is or under another name; or stop the streams, delete silver's "
            "tables, and run `lake-assets rebuild silver`",
        )
    return columns
