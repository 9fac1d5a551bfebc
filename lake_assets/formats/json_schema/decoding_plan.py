"""What the registry said and the columns that the tables have, settled into a `Decoding`: pure.

All versions' rows are read into the same columns, since JSON says itself which names a value has:
what does not fit a column, or has none, is told value by value, whichever version wrote it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.delta.rounded_columns import rounded_columns
from lake_assets.errors import RegistryError, SchemaUnusableError
from lake_assets.formats.confluent.schemas import FIRST, SchemaSet
from lake_assets.formats.json_schema.columns import columns, with_columns
from lake_assets.formats.json_schema.joined_types import stored
from lake_assets.formats.schema_merge import Mismatch, in_words, merge
from lake_assets.model.routes import KEY_TYPES


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """All that decoding depends on, beside a row's bytes: picklable."""

    subject: str

    columns: pa.Schema
    """Of the tables, without what is rescued; all nullable."""

    fields: pa.Schema
    """The same as they are read (`formats.json.values.ANY_VALUE`)."""

    readable: frozenset[int]
    """Ids of the versions whose rows are read."""

    open_ids: frozenset[int] = frozenset()
    """Ids of usable versions with columns of their own that no row has named yet."""

    unusable: Mapping[int, str] = field(default_factory=dict)
    """By schema id: why all its rows are refused."""

    unknown_ids: frozenset[int] = frozenset()
    foreign_ids: frozenset[int] = frozenset()
    waiting_ids: frozenset[int] = frozenset()
    is_flooded: bool = False


def plan_decoding(
    schemas: SchemaSet, have: pa.Schema, route: str | None = None, taken: tuple[str, ...] = ()
) -> Decoding:
    """Decide which rows can be decoded, and which columns the tables need for them.

    The newest version makes its columns before any row has come, an older one those that it has
    beside them when its first row comes.

    Args:
        schemas: what the registry said, and which versions' rows were met.
        have: the decoded columns that the tables have; they stay, or get wider.
        route: column that says where a row goes; None takes all.
        taken: names that no property makes a column of.

    Raises:
        RegistryError: no version makes columns.
    """
    usable, unusable = _versions(schemas, route, taken)
    if not usable and not have.names:
        raise _nothing(schemas, unusable)
    read = pa.schema([one.remove_metadata() for one in have])
    newest = next(iter(usable), None)
    met = {schema_id for schema_id, path in schemas.met if path == FIRST}
    for schema_id, own in usable.items():
        if schema_id == newest or schema_id in met:
            read = _grown(schemas, read, own)
    closed = {one for one, own in usable.items() if _grown(schemas, read, own) == read}
    return Decoding(
        subject=schemas.subject,
        columns=_stored(have, read),
        fields=read,
        readable=frozenset(closed),
        open_ids=frozenset(usable.keys() - closed),
        unusable=unusable,
        unknown_ids=schemas.unknown_ids,
        foreign_ids=schemas.foreign_ids,
        waiting_ids=schemas.waiting_ids,
        is_flooded=schemas.is_flooded,
    )


def made_by(
    schemas: SchemaSet, route: str | None = None, taken: tuple[str, ...] = ()
) -> list[pa.Schema]:
    """The columns that the newest version makes, and each whose rows were met."""
    usable, _ = _versions(schemas, route, taken)
    newest = next(iter(usable), None)
    return [
        pa.schema([(one.name, stored(one.type)) for one in own])
        for schema_id, own in usable.items()
        if schema_id == newest or (schema_id, FIRST) in schemas.met
    ]


def _grown(schemas: SchemaSet, read: pa.Schema, own: pa.Schema) -> pa.Schema:
    """Columns that hold a version's, too; those that must stay integers do, and rescue the rest."""
    made = with_columns(read, own)
    kept = schemas.unrounded.intersection(rounded_columns(read, made))
    return pa.schema([read.field(one.name) if one.name in kept else one for one in made])


def _stored(have: pa.Schema, read: pa.Schema) -> pa.Schema:
    """What is read as tables have it, with what is said of the columns that are there."""
    wanted = pa.schema([(one.name, stored(one.type)) for one in read])
    merged = merge(have, wanted, promotes=True)
    assert not isinstance(merged, Mismatch)  # noqa: S101 - types that do not go together stay out
    return merged


def _versions(
    schemas: SchemaSet, route: str | None, taken: tuple[str, ...]
) -> tuple[dict[int, pa.Schema], dict[int, str]]:
    """By schema id, newest first, the columns of the usable versions; and why others are not."""
    usable: dict[int, pa.Schema] = {}
    unusable: dict[int, str] = {}
    for schema_id, version in sorted(
        schemas.versions.items(), key=lambda one: one[1].number, reverse=True
    ):
        made = version.problem or _columns(version.descriptor_set, route, taken)
        if isinstance(made, str):
            unusable[schema_id] = f"version {version.number} {made}"
        else:
            usable[schema_id] = made
    return usable, unusable


def _columns(compiled: bytes, route: str | None, taken: tuple[str, ...]) -> pa.Schema | str:
    """What a version's rows are read as, or why they cannot be."""
    try:
        own = columns(compiled, taken)
    except SchemaUnusableError as problem:
        return problem.fact
    return _wrong_route(own, route) or own


def _wrong_route(own: pa.Schema, route: str | None) -> str:
    """Why a version's rows cannot be routed; empty if they can."""
    if route is None:
        return ""
    if route not in own.names:
        return f"has no property {route}, which says where a row goes"
    kind = in_words(stored(own.field(route).type))
    if kind not in KEY_TYPES:
        return f"has a property {route} that is {kind}, and it says where a row goes"
    return ""


def _nothing(schemas: SchemaSet, unusable: Mapping[int, str]) -> RegistryError:
    """Why there are no columns: what is wrong with the newest version."""
    subject = f"subject {schemas.subject!r}"
    if not schemas.versions:
        return RegistryError(subject, "has no version", "Register one")
    newest = max(schemas.versions, key=lambda one: schemas.versions[one].number)
    step = "Register a corrected version, or correct the feed's subject or route"
    return SchemaUnusableError(subject, unusable[newest], step)
