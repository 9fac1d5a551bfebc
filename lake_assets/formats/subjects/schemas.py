"""What the registry said of a feed's several subjects: picklable nouns of the driver's. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Self

from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.model.schema_history import RegisteredVersion
from lake_assets.model.subjects import Subjects

_NOBODY = ""
"""The subject of ids that are none of the feed's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectSchemas:
    """The subjects' versions, and what is known of the other schema ids that were met."""

    choice: Subjects
    """Which subjects the feed takes."""

    sets: Mapping[str, SchemaSet] = field(default_factory=dict)
    """By name, the subjects that have versions, the leading ones first: as the feed names them, or
    of a pattern those that were registered first. Their names and types hold where two differ."""

    others: SchemaSet = field(default_factory=lambda: SchemaSet(subject=_NOBODY, versions={}))
    """What is known of ids that are of none of them; it has no versions."""

    recorded: tuple[RegisteredVersion, ...] = ()
    """The versions that the feed's tables were made with. Those of a subject that is gone wait
    until the registry says that a row is of it: another one may have its ids by now."""

    @property
    def owners(self) -> dict[int, str]:
        """By schema id, whose it is: of several that have it, the leading one's."""
        found: dict[int, str] = {}
        for subject, schemas in self.sets.items():
            for schema_id in schemas.versions:
                found.setdefault(schema_id, subject)
        return found

    def unanswered(self, ids: Iterable[int]) -> frozenset[int]:
        """Which of `ids` the registry must be asked about."""
        return self.others.unanswered(frozenset(ids) - self.owners.keys())

    def of(self, subject: str) -> SchemaSet:
        """What is known of a subject; nothing yet of a new one."""
        new = SchemaSet(subject=subject, versions={}, unrounded=self.others.unrounded)
        return self.sets.get(subject, new)

    def with_latest(self, latest: Iterable[SchemaSet]) -> Self:
        """The same with versions of subjects as the registry has them now.

        An id has one text in a registry. Where a known one has another text than the registry's
        now, it was set up anew, and whoever had the id has it no more.
        """
        sets = dict(self.sets)
        fresh: dict[int, tuple[str, Version]] = {}
        for one in latest:
            before = self.of(one.subject)
            versions = {**before.versions, **one.versions}
            sets[one.subject] = replace(before, versions=versions)
            fresh |= {schema_id: (one.subject, v) for schema_id, v in one.versions.items()}
        for subject, schemas in sets.items():
            stale = {
                schema_id
                for schema_id, version in schemas.versions.items()
                if schema_id in fresh
                and subject != fresh[schema_id][0]
                and version.descriptor_set != fresh[schema_id][1].descriptor_set
            }
            if stale:
                kept = {one: v for one, v in schemas.versions.items() if one not in stale}
                sets[subject] = replace(schemas, versions=kept)
        return self.with_sets(sets.values())

    def with_sets(self, sets: Iterable[SchemaSet]) -> Self:
        """The same with these subjects in place of all, in their order.

        Those without versions are none.
        """
        sets = list(sets)
        known = dict.fromkeys([*(its.subject for its in self.recorded), *self.sets])
        before = {name: at for at, name in enumerate(known)}
        named = {name: at for at, name in enumerate(self.choice.names)}
        taken = {schema_id: one.subject for one in sets for schema_id in one.versions}
        recorded: dict[str, set[int]] = {}
        for its in self.recorded:
            if taken.get(its.schema_id, its.subject) == its.subject:
                recorded.setdefault(its.subject, set()).add(its.schema_id)

        def place(one: SchemaSet) -> tuple[float, float, str]:
            """Where a subject stands.

            It stays there when its oldest version is deleted: `select` names columns by that. Of
            two whose first text is the same one leads that was known before, so that the other
            takes no rows from it.
            """
            if one.subject in named:
                return named[one.subject], 0.0, one.subject
            ids = {*one.versions, *recorded.get(one.subject, ())}
            return min(ids), before.get(one.subject, inf), one.subject

        found = sorted((one for one in sets if one.versions), key=place)
        ids = frozenset(schema_id for one in found for schema_id in one.versions)
        others = self.others
        if ids & (others.unknown_ids | others.foreign_ids):
            others = replace(
                others,
                unknown_ids=others.unknown_ids - ids,
                foreign_ids=others.foreign_ids - ids,
            )
        return replace(self, sets={one.subject: one for one in found}, others=others)
