"""The columns that a registered version makes: whether they can be a silver table's. Pure."""

from collections.abc import Sequence

import pyarrow as pa

from lake_assets.errors import SchemaUnusableError
from lake_assets.model.sources import ORIGIN_NAMES

NEXT_STEP = "Register a version without it"
"""What to do about a version that makes no columns."""


def columns_of(thing: str, fields: Sequence[pa.Field]) -> pa.Schema:
    """The fields as columns.

    Args:
        thing: whose fields, for the error.
        fields: as they are to be stored.

    Raises:
        SchemaUnusableError: there are none, or one has a name of silver's own.
    """
    if not fields:
        raise SchemaUnusableError(thing, "has no fields", NEXT_STEP)
    taken = sorted(one.name for one in fields if one.name.lower() in ORIGIN_NAMES)
    if taken:
        fact = f"field {taken[0]} has the name of a column that says where a row came from"
        raise SchemaUnusableError(thing, fact, NEXT_STEP)
    return pa.schema(fields)
