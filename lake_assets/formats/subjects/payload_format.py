"""A payload format over one that reads a subject: rows of several subjects, each by its own.

Which subject a row is of its schema id says (`subjects.decoder`); columns of all of them are merged
as those of one subject's versions are.
Docs: `docs/decisions/0071-one-format-over-several-subjects.md`.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import pyarrow as pa

from lake_assets.errors import RegistryError, SchemaUnusableError
from lake_assets.formats.base import (
    Decoder,
    KeptTypesQuestion,
    KnownVersionsQuestion,
    MessageQuestion,
    PayloadFormat,
    Question,
    SchemaIdQuestion,
    UnknownNamesQuestion,
)
from lake_assets.formats.confluent.cache import CachedRegistry
from lake_assets.formats.confluent.registered_format import RegisteredFormat
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.subjects.decoder import Strangers, SubjectsDecoder
from lake_assets.formats.subjects.registry import SubjectsRegistry
from lake_assets.formats.subjects.renames import merged_renames
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets.model.misfits import RESCUED
from lake_assets.model.schema_history import RegisteredVersion
from lake_assets.model.subjects import Subjects


@runtime_checkable
class ReadsByName(Protocol):
    """A format whose rows say themselves which columns they have, whatever their schema says."""

    def without(self, names: frozenset[str]) -> PayloadFormat[SchemaSet]:
        """The same where rows have no value in columns of these names, which are others'."""


@dataclass(frozen=True, slots=True)
class SubjectsFormat:
    """A `formats.base.PayloadFormat` over that of one subject."""

    inner: PayloadFormat[SchemaSet]
    registry: SubjectsRegistry

    def newest(self) -> SubjectSchemas:
        """The versions of all subjects that are there."""
        return self.registry.newest()

    def check(self) -> None:
        """Make sure that the registry answers."""
        self.registry.check()

    def for_next_batch(self, schemas: SubjectSchemas, now: float) -> SubjectSchemas:
        """Without ids that were unknown long ago, and without waiting ones."""
        others = schemas.others.for_next_batch(now)
        return schemas if others is schemas.others else replace(schemas, others=others)

    def resolve(self, schemas: SubjectSchemas, questions: frozenset[Question]) -> SubjectSchemas:
        """With what the registry says of ids, and with each subject's answers.

        Raises:
            RegistryError: no answer.
            UnknownColumnsError: rows have names at which the feed is to stop.
        """
        self._stop_if_unknown(questions)
        recorded = [q for q in questions if isinstance(q, KnownVersionsQuestion)]
        if recorded:
            told = tuple(version for one in recorded for version in one.versions)
            schemas = self._with_recorded(replace(schemas, recorded=told), {*schemas.sets})
        ids = _ids(questions)
        if ids:
            before = {*schemas.sets}
            schemas = self.registry.resolve(schemas, ids)
            schemas = self._with_recorded(schemas, schemas.sets.keys() - before)
        return self._answered(schemas, questions)

    def let_wait(self, schemas: SubjectSchemas, questions: frozenset[Question]) -> SubjectSchemas:
        """With each subject's answers; rows of ids never met wait.

        Raises:
            UnknownColumnsError: rows have names at which the feed is to stop.
        """
        self._stop_if_unknown(questions)
        others = schemas.others.let_wait(schemas.unanswered(_ids(questions)))
        return self._answered(replace(schemas, others=others), questions)

    def plan(
        self, schemas: SubjectSchemas, have: pa.Schema, route: Sequence[str]
    ) -> SubjectsDecoder:
        """Every subject's rows into the columns of all; the leading subjects' types hold.

        What a version of another one does not go together with, it is refused for. A subject none
        of whose versions makes columns has its rows refused, and holds up nobody.
        """
        names = self._names(schemas)
        formats = {subject: self._reading(subject, names) for subject in schemas.sets}
        decoders: dict[str, Decoder] = {}
        failed: dict[str, SchemaUnusableError] = {}
        columns, before = have, None
        # Once more with the columns of all, until none comes along or gets wider.
        while before is None or columns != before:
            before = columns
            decoders.clear()
            failed.clear()
            for subject, known in schemas.sets.items():
                try:
                    decoders[subject] = formats[subject].plan(known, columns, route)
                except SchemaUnusableError as problem:
                    failed[subject] = problem
                else:
                    columns = decoders[subject].columns
        if not decoders:
            raise next(iter(failed.values()), self._nothing())
        others, owners = schemas.others, schemas.owners
        places = {subject: place for place, subject in enumerate(decoders)}
        return SubjectsDecoder(
            columns=columns,
            subjects=tuple(decoders),
            decoders=tuple(decoders.values()),
            owners={one: places[whose] for one, whose in owners.items() if whose in places},
            renames=merged_renames([(one.renames, names[who]) for who, one in decoders.items()]),
            strangers=Strangers(
                subject=schemas.choice.label,
                unusable={
                    one: f"subject {whose}: {failed[whose].fact}"
                    for one, whose in owners.items()
                    if whose in failed
                },
                unknown_ids=others.unknown_ids,
                foreign_ids=others.foreign_ids,
                waiting_ids=others.waiting_ids,
                is_flooded=others.is_flooded,
            ),
        )

    def made_by(self, schemas: SubjectSchemas, route: Sequence[str]) -> list[pa.Schema]:
        """The columns of each kind of row, of each subject."""
        return [one for known in schemas.sets.values() for one in self.inner.made_by(known, route)]

    def _names(self, schemas: SubjectSchemas) -> dict[str, frozenset[str]]:
        """By subject, the columns that any version of it makes."""
        return {
            subject: frozenset(
                name
                for schema_id, version in known.versions.items()
                for columns in self.inner.made_by(
                    replace(known, versions={schema_id: version}, met=frozenset()), ()
                )
                for name in columns.names
            )
            for subject, known in schemas.sets.items()
        }

    def _reading(
        self, subject: str, names: Mapping[str, frozenset[str]]
    ) -> PayloadFormat[SchemaSet]:
        """What reads a subject's rows: not into columns that only others of the feed make."""
        if not isinstance(self.inner, ReadsByName):
            return self.inner
        own = {name.lower() for name in names[subject]} | {RESCUED}
        others = {name for other in names.values() for name in other}
        return self.inner.without(frozenset(one for one in others if one.lower() not in own))

    def _answered(self, schemas: SubjectSchemas, questions: frozenset[Question]) -> SubjectSchemas:
        """With the answers that need no registry, each of the subject whose rows ask."""
        owners = schemas.owners
        asked: dict[str, set[Question]] = {}
        for one in questions:
            if isinstance(one, MessageQuestion) and one.schema_id in owners:
                asked.setdefault(owners[one.schema_id], set()).add(one)
            elif isinstance(one, KeptTypesQuestion):
                others = schemas.others.keep_integers(one.columns)
                schemas = replace(schemas, others=others)
                for subject in schemas.sets:
                    asked.setdefault(subject, set()).add(one)
        if not asked:
            return schemas
        answered = {
            subject: self.inner.resolve(schemas.of(subject), frozenset(own))
            for subject, own in asked.items()
        }
        return replace(schemas, sets={**schemas.sets, **answered})

    def _with_recorded(self, schemas: SubjectSchemas, subjects: AbstractSet[str]) -> SubjectSchemas:
        """With the versions that the tables were made with, of these subjects, each of its own.

        What an id is now in the registry counts more than whose it was.
        """
        if not schemas.recorded or not subjects:
            return schemas
        sets = []
        for known in schemas.sets.values():
            told = KnownVersionsQuestion(_own(known, schemas.recorded))
            is_asked = known.subject in subjects and told.versions
            sets.append(self.inner.resolve(known, frozenset({told})) if is_asked else known)
        return schemas.with_sets(sets).with_latest(schemas.sets.values())

    def _stop_if_unknown(self, questions: frozenset[Question]) -> None:
        names = frozenset(one for one in questions if isinstance(one, UnknownNamesQuestion))
        if names:
            self.inner.resolve(SchemaSet(subject="", versions={}), names)

    def _nothing(self) -> RegistryError:
        step = "Register one, or correct the feed's subjects"
        return RegistryError(self.registry.choice.title, "have no schema in the registry", step)


def over_subjects(one: PayloadFormat[SchemaSet], choice: Subjects) -> SubjectsFormat:
    """The format of several subjects' rows, over that of one.

    Raises:
        TypeError: its schemas are not registered.
    """
    known = one.registry if isinstance(one, RegisteredFormat) else None
    if isinstance(known, CachedRegistry):
        return SubjectsFormat(one, SubjectsRegistry(choice, known.registry, known.cache))
    if isinstance(known, Registry):
        return SubjectsFormat(one, SubjectsRegistry(choice, known))
    message = f"{type(one).__name__} has no subjects"
    raise TypeError(message)


def _own(known: SchemaSet, recorded: Sequence[RegisteredVersion]) -> tuple[RegisteredVersion, ...]:
    """Those of a subject; of earlier releases, which noted none, if one is still the subject's."""
    unnamed = [one for one in recorded if not one.subject]
    is_its = any(
        one.schema_id in known.versions
        and known.versions[one.schema_id].descriptor_set == one.schema
        for one in unnamed
    )
    names = {known.subject, ""} if is_its else {known.subject}
    return tuple(one for one in recorded if one.subject in names)


def _ids(questions: frozenset[Question]) -> frozenset[int]:
    return frozenset(one.schema_id for one in questions if isinstance(one, SchemaIdQuestion))
