"""The columns that a feed's silver tables have: what a restart remembers of old schemas."""

from collections.abc import Mapping

import pyarrow as pa

from lake_assets.errors import LakeError
from lake_assets.formats.schema_merge import Mismatch, merge
from lake_assets.model.origins import OriginColumns
from lake_assets.model.tables import TableRef
from lake_assets.silver.rows import decoded_part


def held_columns(
    known: pa.Schema, tables: Mapping[TableRef, pa.Schema], origin: OriginColumns
) -> pa.Schema:
    """Decoded columns that hold the rows of all tables.

    They are the same in all tables of a feed, unless a process died while it widened them.

    Args:
        known: columns that are known already.
        tables: what the tables have, origin and all.
        origin: what the feed's source calls the origin's columns.

    Raises:
        LakeError: a table has a column of a type that does not go with the others'.
    """
    for table, schema in tables.items():
        merged = merge(known, decoded_part(schema, origin), promotes=True)
        if isinstance(merged, Mismatch):
            raise LakeError(
                table.name,
                f"column {merged.path} is {merged.came}, and {merged.have} in other tables",
                "Find out who changed the table, and restore it",
            )
        known = merged
    return known
