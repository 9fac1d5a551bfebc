"""Versions of subjects that the feed's tables were made with, as the lake noted them. Pure.

What a column is called hangs on the oldest version that has it, also where the registry has that no
more.
"""

from collections import defaultdict
from collections.abc import Mapping

from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets.model.schema_history import RegisteredVersion


def recorded_of(schemas: SubjectSchemas) -> Mapping[str, tuple[RegisteredVersion, ...]]:
    """By subject that is known, its recorded versions.

    Those of earlier releases, which noted no subject, are all a subject's that still has one.
    """
    found: dict[str, list[RegisteredVersion]] = defaultdict(list)
    for one in schemas.recorded:
        found[one.subject].append(one)
    unnamed = found.pop("", [])
    made = {}
    for subject, known in schemas.sets.items():
        is_its = any(
            one.schema_id in known.versions
            and known.versions[one.schema_id].descriptor_set == one.schema
            for one in unnamed
        )
        own = found.get(subject, [])
        if is_its:
            own = [one for one in schemas.recorded if one.subject in {subject, ""}]
        made[subject] = tuple(own)
    return made


def forgotten(schemas: SubjectSchemas) -> Mapping[str, tuple[SchemaSet, ...]]:
    """By subject, its recorded versions that are known no more, each by itself, the oldest first.

    None of a subject of which one is another now: the registry was set up anew.
    """
    return {
        subject: _forgotten(schemas.sets[subject], own)
        for subject, own in recorded_of(schemas).items()
        if own
    }


def _forgotten(known: SchemaSet, recorded: tuple[RegisteredVersion, ...]) -> tuple[SchemaSet, ...]:
    texts = {(schema_id, v.number): v.descriptor_set for schema_id, v in known.versions.items()}
    ids = {schema_id for schema_id, _ in texts}
    numbers = {number for _, number in texts}
    gone: dict[int, RegisteredVersion] = {}
    for one in recorded:
        place = one.schema_id, one.version
        if one.schema_id not in ids and one.version not in numbers:
            if one.version in gone and gone[one.version].schema != one.schema:
                return ()
            gone[one.version] = one
        elif texts.get(place) != one.schema and not one.note:
            return ()
    return tuple(
        SchemaSet(
            subject=known.subject,
            versions={one.schema_id: Version(number=number, descriptor_set=one.schema)},
        )
        for number, one in sorted(gone.items())
        if not one.note
    )
