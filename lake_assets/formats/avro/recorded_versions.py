"""Versions that a feed's tables were made with and the registry no longer has: known on. Pure.

Which member of a union a type has hangs on all versions that there were, in whatever registry.
"""

from collections.abc import Iterable
from dataclasses import replace

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.avro.schema import Type, parse
from lake_assets.formats.column_reasons import versions_in
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.model.schema_history import RegisteredVersion


def with_recorded(schemas: SchemaSet, recorded: Iterable[RegisteredVersion]) -> SchemaSet:
    """The schemas with the recorded versions that are gone, as deleted ones.

    What is recorded of another subject, or of a registry that was set up again since, contradicts
    what came later, and counts no more.

    Args:
        schemas: what the registry has now.
        recorded: what it or another one had, in the order of time.
    """
    now = versions_in(schemas)
    known: dict[int, tuple[int, Type]] = {}
    texts: dict[int, bytes] = {}
    for one in (*recorded, *now):
        made = _parsed(one)
        if made is None:
            continue
        number = one.version
        same = [it for it in known.items() if it[0] == one.schema_id or it[1][0] == number]
        if any(other != (one.schema_id, (number, made)) for other in same):
            known.clear()
        known[one.schema_id] = number, made
        texts[one.schema_id] = one.schema
    gone = {
        schema_id: Version(number=number, descriptor_set=texts[schema_id], is_deleted=True)
        for schema_id, (number, _) in known.items()
        if schema_id not in schemas.versions
    }
    return replace(schemas, versions={**gone, **schemas.versions}) if gone else schemas


def _parsed(one: RegisteredVersion) -> Type | None:
    """The record of a version; None if it cannot be used, or is of another language."""
    if one.note:
        return None
    try:
        return parse(one.schema)
    except (SchemaUnusableError, ValueError, KeyError, TypeError):
        return None
