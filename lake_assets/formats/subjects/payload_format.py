"""A payload format over one that reads a subject: rows of several subjects, each by its own.

Which subject a row is of its schema id says (`subjects.decoder`); columns of all of them are merged
as those of one subject's versions are.
Docs: `docs/decisions/0071-one-format-over-several-subjects.md`.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import pyarrow as pa

from lake_assets.errors import RegistryError
from lake_assets.formats.base import PayloadFormat
from lake_assets.formats.confluent.cache import CachedRegistry
from lake_assets.formats.confluent.registered_format import RegisteredFormat
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.questions import (
    KeptTypesQuestion,
    KnownVersionsQuestion,
    MessageQuestion,
    Question,
    SchemaIdQuestion,
    UnknownNamesQuestion,
)
from lake_assets.formats.subjects.column_names import changed, column_names, renamed
from lake_assets.formats.subjects.decoder import OfSubject, Strangers, SubjectsDecoder
from lake_assets.formats.subjects.planning import SubjectFormat, own_columns, plan_subjects
from lake_assets.formats.subjects.recorded import forgotten, recorded_of
from lake_assets.formats.subjects.registry import SubjectsRegistry
from lake_assets.formats.subjects.renames import merged_renames
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets.model.subjects import Subjects


@dataclass(frozen=True, slots=True)
class SubjectsFormat:
    """A `formats.base.PayloadFormat` over that of one subject."""

    inner: SubjectFormat
    registry: SubjectsRegistry
    renames_clashing: bool = True
    """Whether a field whose type does not go with the feed's column has one of its own; else its
    rows are refused."""

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

        A column of another one that does not go with them is one of its own, with the type in its
        name (`subjects.column_names`). A subject none of whose versions makes columns has its rows
        refused, and holds up nobody.
        """
        recorded = forgotten(schemas)
        columns, planned = plan_subjects(
            self.inner,
            schemas.sets.values(),
            have,
            route,
            recorded,
            renames=self.renames_clashing,
        )
        failed = {one.known.subject: one.problem for one in planned if one.problem is not None}
        made = [one for one in planned if one.decoder is not None]
        if not made:
            raise next(iter(failed.values()), self._nothing())
        others, owners = schemas.others, schemas.owners
        places = {one.known.subject: place for place, one in enumerate(made)}
        return SubjectsDecoder(
            columns=columns,
            subjects=tuple(
                OfSubject(subject=one.known.subject, decoder=one.decoder, names=changed(one.names))
                for one in made
                if one.decoder is not None
            ),
            owners={one: places[whose] for one, whose in owners.items() if whose in places},
            renames=merged_renames([one.renames for one in made]),
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
        """The columns of each kind of row, of each subject, as they are called beside the others'.

        Of one subject alone they have its own names.
        """
        found: list[pa.Schema] = []
        columns: dict[str, pa.Field] = {}
        fixed, recorded = frozenset(name.lower() for name in route), forgotten(schemas)
        for known in schemas.sets.values():
            kinds = self.inner.made_by(known, route)
            if self.renames_clashing and len(schemas.sets) > 1:
                own = own_columns(self.inner, known, recorded.get(known.subject, ()))
                inner = self.inner
                names = column_names(own, columns, inner.goes_with, fixed, inner.beside)
                names = changed(names)
                kinds = [renamed(one, names) for one in kinds]
                for one in (column for kind in kinds for column in kind):
                    columns.setdefault(one.name.lower(), one)
            found += kinds
        return found

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
        sets, recorded = [], recorded_of(schemas)
        for known in schemas.sets.values():
            told = KnownVersionsQuestion(recorded[known.subject])
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


def over_subjects(
    one: PayloadFormat[SchemaSet], choice: Subjects, *, renames_clashing: bool = True
) -> SubjectsFormat:
    """The format of several subjects' rows, over that of one.

    Raises:
        TypeError: its schemas are not registered.
    """
    if isinstance(one, RegisteredFormat):
        known = one.registry
        if isinstance(known, CachedRegistry):
            asked = SubjectsRegistry(choice, known.registry, known.cache)
            return SubjectsFormat(one, asked, renames_clashing)
        if isinstance(known, Registry):
            return SubjectsFormat(one, SubjectsRegistry(choice, known), renames_clashing)
    message = f"{type(one).__name__} has no subjects"
    raise TypeError(message)


def _ids(questions: frozenset[Question]) -> frozenset[int]:
    return frozenset(one.schema_id for one in questions if isinstance(one, SchemaIdQuestion))
