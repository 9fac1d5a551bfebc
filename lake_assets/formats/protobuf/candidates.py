"""Which message types a feed's rows may have: those with the column by which it is routed. Pure.

Whose columns fit the tables is decided in `decoding_plan`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.confluent.schemas import Path, SchemaSet
from lake_assets.formats.protobuf.decoders import descriptor_of
from lake_assets.formats.protobuf.messages import WELL_KNOWN

Pair: TypeAlias = tuple[int, Path]
"""Schema id, and where a message stands in that version."""


@dataclass(slots=True)
class Candidates:
    """The message types that have the route's column under their own names."""

    types: dict[str, list[Pair]] = field(default_factory=dict)
    """By full name, in which versions, newest first; under the newest name, where it changed."""

    names: dict[str, str] = field(default_factory=dict)
    """The newest name of each type."""

    refused: dict[Pair, str] = field(default_factory=dict)
    """Why a message of a version has no such column."""


def candidates(
    schemas: SchemaSet, messages: Mapping[int, Mapping[Path, str]], route: str | None
) -> Candidates:
    """Find the message types that rows may have.

    Args:
        schemas: what the registry said.
        messages: the full names of the messages in each usable version, newest first.
        route: column that says where a row goes; None takes all messages.
    """
    result = Candidates()
    direct: dict[int, dict[Path, str]] = {}
    for schema_id, paths in messages.items():
        version = schemas.versions[schema_id]
        for path, name in paths.items():
            if schemas.message not in {None, name}:
                continue
            problem = _unroutable(name, version.descriptor_set, route)
            if problem is None:
                direct.setdefault(schema_id, {})[path] = name
            else:
                reason = f"message {name} of version {version.number} {problem}"
                result.refused[schema_id, path] = reason
    for schema_id, paths in direct.items():
        for path, name in paths.items():
            newest = result.names.setdefault(name, _newest_name(name, direct, messages))
            result.types.setdefault(newest, []).append((schema_id, path))
    return result


def is_text(kind: pa.DataType) -> bool:
    """Whether a column's values can be read as text, to name where a row goes."""
    return not (pa.types.is_nested(kind) or pa.types.is_temporal(kind))


def _unroutable(name: str, descriptor_set: bytes, route: str | None) -> str | None:
    if route is None:
        return None
    try:
        route_field = descriptor_of(name, descriptor_set).fields_by_name.get(route)
    except SchemaUnusableError:
        return None  # refused when its columns are asked for, with that reason
    if route_field is None:
        return f"has no field {route}, which says where a row goes"
    if route_field.is_repeated or not _is_scalar(route_field):
        return f"has a field {route} that is no text, and it says where a row goes"
    return None


def _is_scalar(found: FieldDescriptor) -> bool:
    if found.message_type is None:
        return True
    name = found.message_type.full_name
    return bool(name.startswith(WELL_KNOWN) and name.endswith("Value") and name not in _ANYTHING)


_ANYTHING = frozenset({"google.protobuf.Value", "google.protobuf.ListValue"})


def _newest_name(
    name: str, direct: Mapping[int, Mapping[Path, str]], messages: Mapping[int, Mapping[Path, str]]
) -> str:
    """What a type is called in the newest version.

    One that is there no more is the same as the one that came, if each is its versions' only one.
    """
    newest, now = next((schema_id, set(paths.values())) for schema_id, paths in direct.items())
    if name in messages[newest].values() or len(now) > 1:
        return name
    (other,) = now
    having = [schema_id for schema_id, paths in direct.items() if name in paths.values()]
    is_only = all(_is_only(direct[schema_id].values()) for schema_id in having)
    is_new = all(other not in messages[schema_id].values() for schema_id in having)
    return other if is_only and is_new else name


def _is_only(names: Iterable[str]) -> bool:
    return len(set(names)) == 1
