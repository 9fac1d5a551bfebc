"""The columns that a registered version makes. Pure."""

from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.confluent.version_columns import NEXT_STEP
from lake_assets.formats.json.columns import can_be_added
from lake_assets.formats.json_schema.documents import parse
from lake_assets.formats.json_schema.joined_types import Kind, held
from lake_assets.formats.json_schema.types import type_of


def columns(compiled: bytes, taken: Iterable[str] = ()) -> pa.Schema:
    """The properties of a version's objects as what is read; those that can be columns.

    Args:
        compiled: as `documents.compile_documents` made it.
        taken: names that are no column's.

    Raises:
        SchemaUnusableError: its values are no objects with properties.
    """
    kind = _kind(compiled)
    if kind is None or not pa.types.is_struct(kind):
        raise SchemaUnusableError("the document", "describes no object with properties", NEXT_STEP)
    fields = [one for one in kind if can_be_added(one.name, taken)]
    if not fields:
        fact = "has no property whose name can be that of a column"
        raise SchemaUnusableError("the document", fact, NEXT_STEP)
    return pa.schema(fields)


def with_columns(have: pa.Schema, came: pa.Schema) -> pa.Schema:
    """Columns that hold both where that can be; a type that does not go with one stays out."""
    kinds = {one.name: one.type for one in have}
    twins = {name.lower() for name in kinds}
    for one in came:
        if one.name in kinds:
            kinds[one.name] = held(kinds[one.name], one.type)
        elif one.name.lower() not in twins:
            kinds[one.name] = one.type
            twins.add(one.name.lower())
    return pa.schema(list(kinds.items()))


@lru_cache(maxsize=256)
def _kind(compiled: bytes) -> Kind:
    return type_of(parse(compiled))
