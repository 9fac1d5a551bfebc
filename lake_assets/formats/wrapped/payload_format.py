"""Envelopes as a payload format: the driver's side, over the formats of envelopes and of bodies.

Docs: `docs/decisions/0072-an-envelope-and-its-body-are-two-formats.md`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa

from lake_assets.errors import FeedError
from lake_assets.formats.base import Decoder, PayloadFormat
from lake_assets.formats.column_reasons import versions_in
from lake_assets.formats.confluent.framing import SHORT
from lake_assets.formats.questions import (
    KeptTypesQuestion,
    KnownVersionsQuestion,
    Question,
    WrappedQuestion,
)
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets.formats.wrapped.columns import (
    in_order,
    joined_renames,
    names_of,
    prefixed,
)
from lake_assets.formats.wrapped.decoder import TAKEN, Place, WrappedDecoder
from lake_assets.formats.wrapped_schemas import WrappedSchemas
from lake_assets.model.payload import WrappedPayload

Inner: TypeAlias = Callable[[tuple[str, ...]], PayloadFormat[Any]]
"""Makes the format of bodies, by names of which it is to make no columns."""

_MARKED = ("avro", "protobuf")
"""Formats that are told of taken names by columns that nothing goes with: their versions that have
such a field are refused, and others go on. JSON's formats are told by name."""


@dataclass(frozen=True, slots=True)
class WrappedFormat:
    """A `formats.base.PayloadFormat` over two others."""

    reads: ClassVar[tuple[str, ...]] = ("value", "schema_id")

    feed: str
    declared: WrappedPayload
    outer: PayloadFormat[Any]
    make_inner: Inner
    inner: PayloadFormat[Any] = field(init=False)
    """The format of bodies."""

    _names: dict[int, tuple[WrappedSchemas, frozenset[str]]] = field(default_factory=dict)
    """What `_envelope` last found."""

    def __post_init__(self) -> None:
        """Make the format of bodies, once; where names are taken, `plan` makes another."""
        object.__setattr__(self, "inner", self.make_inner(()))

    def newest(self) -> WrappedSchemas:
        """What is known of both."""
        return WrappedSchemas(self.outer.newest(), self.inner.newest())

    def check(self) -> None:
        """Make sure that questions of both would have an answer."""
        self.outer.check()
        self.inner.check()

    def for_next_batch(self, schemas: WrappedSchemas, now: float) -> WrappedSchemas:
        """As the two formats."""
        outer = self.outer.for_next_batch(schemas.outer, now)
        return schemas.changed(outer, self.inner.for_next_batch(schemas.inner, now))

    def resolve(self, schemas: WrappedSchemas, questions: frozenset[Question]) -> WrappedSchemas:
        """With the answers that each of the formats has to its own questions."""
        of_outer, of_inner = self._split(schemas, questions)
        outer = self.outer.resolve(schemas.outer, of_outer) if of_outer else schemas.outer
        inner = self.inner.resolve(schemas.inner, of_inner) if of_inner else schemas.inner
        return schemas.changed(outer, inner)

    def let_wait(self, schemas: WrappedSchemas, questions: frozenset[Question]) -> WrappedSchemas:
        """As `resolve`, where rows wait whose questions only the outside can answer."""
        of_outer, of_inner = self._split(schemas, questions)
        outer = self.outer.let_wait(schemas.outer, of_outer) if of_outer else schemas.outer
        inner = self.inner.let_wait(schemas.inner, of_inner) if of_inner else schemas.inner
        return schemas.changed(outer, inner)

    def plan(
        self, schemas: WrappedSchemas, have: pa.Schema, route: Sequence[str]
    ) -> WrappedDecoder:
        """The columns of both, for tables that have some of either.

        Raises:
            FeedError: envelopes have no such column of bytes or of ids, or no column of a body goes
                beside theirs.
            RegistryError: no schema of one of them makes columns.
            LakeError: the columns do not go with those that the tables have.
        """
        own, prefix = self._own_names(schemas), self.declared.prefix
        theirs = [one for one in have if one.name.lower() in own]
        routed = [name for name in route if name.lower() in own]
        outer = self.outer.plan(schemas.outer, pa.schema(theirs), routed)
        self._ensure_readable(outer)
        rest = [one for one in have if one.name.lower() not in own]
        inner = self._plan_inner(schemas, rest, [name for name in route if name not in routed])
        made = [*self._of_envelope(outer.columns), *_real(prefixed(inner.columns, prefix))]
        unused = [*self._of_envelope(outer.unused), *_real(prefixed(inner.unused, prefix))]
        return WrappedDecoder(
            outer=outer,
            inner=inner,
            place=self._place,
            columns=in_order(have, made),
            unused=pa.schema(unused),
            renames=joined_renames(outer.renames, inner.renames, prefix, own),
        )

    def made_by(self, schemas: WrappedSchemas, route: Sequence[str]) -> list[pa.Schema]:
        """The columns of each kind of envelope, and of each kind of body, for themselves."""
        own, prefix = self._own_names(schemas), self.declared.prefix
        routed = [name for name in route if name.lower() in own]
        others = self._without_prefix([name for name in route if name not in routed])
        outer = [
            pa.schema(self._of_envelope(one)) for one in self.outer.made_by(schemas.outer, routed)
        ]
        inner = self.inner.made_by(schemas.inner, others)
        return [*outer, *(_without(prefixed(one, prefix), own) for one in inner)]

    def is_of_envelope(self, schemas: WrappedSchemas, name: str) -> bool:
        """Whether a column of silver is the envelope's, not the body's."""
        return name.lower() in self._own_names(schemas)

    @property
    def _place(self) -> Place:
        declared = self.declared
        path = SHORT if declared.format == "protobuf" else b""
        return Place(
            column=declared.column,
            schema_id=declared.schema_id,
            path=path,
            prefix=declared.prefix,
        )

    def _own_names(self, schemas: WrappedSchemas) -> frozenset[str]:
        """Names in silver, in lower case, that envelopes may have columns by."""
        last = self._names.get(0)
        if last is None or last[0].outer is not schemas.outer:
            alone = self.outer.plan(schemas.outer, pa.schema([]), ())
            names = names_of(self.outer, schemas.outer, alone) - {self.declared.column.lower()}
            last = self._names[0] = schemas, names
        return last[1]

    def _of_envelope(self, columns: pa.Schema) -> list[pa.Field]:
        return [one for one in columns if one.name != self.declared.column]

    def _plan_inner(
        self, schemas: WrappedSchemas, have: Sequence[pa.Field], route: Sequence[str]
    ) -> Decoder:
        prefix = self.declared.prefix
        own = self._own_names(schemas)
        taken = [name[len(prefix) :] for name in sorted(own) if name.startswith(prefix.lower())]
        before = [
            one.with_name(one.name[len(prefix) :]) for one in have if one.name.startswith(prefix)
        ]
        if self.declared.format in _MARKED:
            marks = [pa.field(name, TAKEN) for name in taken if name]
            routed = self._without_prefix(route)
            inner = self.inner.plan(schemas.inner, pa.schema([*before, *marks]), routed)
        else:
            made = self.make_inner(tuple(taken))
            inner = made.plan(schemas.inner, pa.schema(before), self._without_prefix(route))
        twins = [one.name for one in _real(inner.columns) if one.name.lower() in taken]
        if not _real(inner.columns) and not _real(inner.unused):
            plain = self.inner.plan(schemas.inner, pa.schema([]), ())
            found = [one.name for one in (*plain.columns, *plain.unused)]
            twins += [name for name in found if name.lower() in taken]
        if twins:
            self._refuse(
                f"envelopes and the bodies in {self.declared.column} both have a column "
                f"{prefix}{twins[0]}",
                "Give a prefix for the body's columns, such as `prefix: body_`; `select` may then "
                "give each the name that it is to have",
            )
        return inner

    def _without_prefix(self, names: Sequence[str]) -> list[str]:
        """Names of silver's columns as bodies have them; one without the prefix is none of them."""
        prefix = self.declared.prefix
        strange = [name for name in names if not name.startswith(prefix)]
        if strange:
            fact = f"are routed by {strange[0]}, which neither has"
            self._refuse(fact, f"Columns of the body begin with {prefix} in silver")
        return [name[len(prefix) :] for name in names]

    def _ensure_readable(self, outer: Decoder) -> None:
        known = pa.schema([*outer.columns, *outer.unused])
        declared = self.declared
        asked = [("bytes", declared.column, pa.types.is_binary)]
        if declared.schema_id is not None:
            asked.append(("integers", declared.schema_id, pa.types.is_integer))
        for what, name, is_it in asked:
            if name not in known.names:
                step = f"It has {', '.join(known.names) or 'none'}"
                self._refuse(f"name {name}, which is no column of the envelope", step)
            if not is_it(known.field(name).type):
                kind = known.field(name).type
                self._refuse(f"name {name}, which is {kind}", f"Name a column of {what}")

    def _refuse(self, fact: str, step: str) -> None:
        raise FeedError(f"wrapped messages of feed {self.feed!r}", fact, step)

    def _split(
        self, schemas: WrappedSchemas, questions: frozenset[Question]
    ) -> tuple[frozenset[Question], frozenset[Question]]:
        """The questions of envelopes, and those of bodies."""
        outer, inner = set[Question](), set[Question]()
        for one in questions:
            if isinstance(one, WrappedQuestion):
                inner.add(one.question)
            elif isinstance(one, KeptTypesQuestion):
                own = tuple(n for n in one.columns if self.is_of_envelope(schemas, n))
                others = self._without_prefix([n for n in one.columns if n not in own])
                outer |= {KeptTypesQuestion(own)} if own else set()
                inner |= {KeptTypesQuestion(tuple(others))} if others else set()
            elif isinstance(one, KnownVersionsQuestion):
                outer |= _of_subjects(one, schemas.outer)
                inner |= _of_subjects(one, schemas.inner)
            else:
                outer.add(one)
        return frozenset(outer), frozenset(inner)


def _of_subjects(question: KnownVersionsQuestion, schemas: Any) -> set[Question]:  # noqa: ANN401
    """The question about versions of the subjects that are taken, if it is about any."""
    several = schemas.choice if isinstance(schemas, SubjectSchemas) else None
    subjects = {one.subject for one in versions_in(schemas)}
    own = tuple(
        one
        for one in question.versions
        if one.subject in subjects or (several is not None and several.takes(one.subject))
    )
    return {KnownVersionsQuestion(own)} if own else set()


def _real(columns: pa.Schema) -> list[pa.Field]:
    """The columns without those that stand for taken names."""
    return [one for one in columns if one.type != TAKEN]


def _without(columns: pa.Schema, taken: frozenset[str]) -> pa.Schema:
    return pa.schema([one for one in columns if one.name.lower() not in taken])
