"""Why silver's columns are there, and which versions of a schema are known, whatever the format."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lake_assets.formats.base import PayloadFormat
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.schema_merge import in_words
from lake_assets.formats.subjects.column_names import may_be
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets.formats.wrapped_schemas import WrappedSchemas
from lake_assets.model.misfits import RESCUED
from lake_assets.model.payload import OneFormat
from lake_assets.model.schema_history import Reason, RegisteredVersion, Why


def versions_in(schemas: Any) -> tuple[RegisteredVersion, ...]:  # noqa: ANN401 - a format's own
    """The versions that a registry told of; none of a format without one."""
    if isinstance(schemas, WrappedSchemas):
        both = (*versions_in(schemas.outer), *versions_in(schemas.inner))
        return tuple(dict.fromkeys(both))  # they may be of one subject
    return tuple(
        RegisteredVersion(
            version=version.number,
            schema_id=schema_id,
            schema=version.descriptor_set,
            note=version.problem,
            subject=known.subject,
        )
        for known in _sets_in(schemas)
        for schema_id, version in known.versions.items()
    )


def versions_alone(schemas: Any) -> Iterator[tuple[Reason, Any]]:  # noqa: ANN401 - a format's own
    """Each version that a registry told of, as if a format knew no other.

    Yields:
        Which one, and what the format would know; the oldest of a subject first.
    """
    for known in _sets_in(schemas):
        for schema_id, version in sorted(known.versions.items(), key=lambda one: one[1].number):
            alone: Any = known.alone(schema_id)
            if isinstance(schemas, SubjectSchemas):
                alone = replace(schemas, sets={known.subject: alone})
            yield Reason(Why.REGISTRY, version.number, schema_id, known.subject), alone


def _sets_in(schemas: Any) -> tuple[SchemaSet, ...]:  # noqa: ANN401 - a format's own
    """What is known of each subject."""
    if isinstance(schemas, SubjectSchemas):
        return tuple(schemas.sets.values())
    return (schemas,) if isinstance(schemas, SchemaSet) else ()


def reasons_of(
    payload: OneFormat,
    payload_format: PayloadFormat[Any],
    schemas: Any,  # noqa: ANN401 - the format's own
    route: Sequence[str],
) -> Callable[[str, str], Reason]:
    """What tells why a column is there, by its name and its type in words."""
    if _sets_in(schemas):
        return _by_versions(payload_format, schemas, route)
    declared = {column.name for column in payload.declared_columns} | {RESCUED}
    other = Why.INFERRED if payload.grows else Why.FOUND
    return lambda name, _: Reason(Why.DECLARED if name in declared else other)


def _by_versions(
    payload_format: PayloadFormat[Any],
    schemas: Any,  # noqa: ANN401 - the format's own
    route: Sequence[str],
) -> Callable[[str, str], Reason]:
    """The first version that has the column of the type, else the newest that has its name.

    Of several subjects, the leading one's.
    """
    made: list[tuple[Reason, pa.Schema]] = [
        (version, columns)
        for version, alone in versions_alone(schemas)
        for columns in payload_format.made_by(alone, route)
    ]

    def reason(name: str, kind: str) -> Reason:
        if name == RESCUED:
            return Reason(Why.DECLARED)  # by what the feed says becomes of what does not fit
        having = [(why, columns.field(name).type) for why, columns in made if name in columns.names]
        exact = [why for why, its_type in having if in_words(its_type) == kind]
        named = [why for why, _ in reversed(having)]
        others = _renamed(name, made) if isinstance(schemas, SubjectSchemas) else ()
        return next(iter([*exact, *named, *others]), Reason(Why.FOUND))

    return reason


def _renamed(name: str, made: Sequence[tuple[Reason, pa.Schema]]) -> Iterator[Reason]:
    """The versions with a field whose column has this name, since it is of another type."""
    for why, columns in made:
        for column in columns:
            if may_be(name, column):
                yield replace(why, field=column.name)
