"""What a payload format does whose schemas are the versions of a subject, in whatever language.

How versions become columns and rows is the business of the format that builds on it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

import pyarrow as pa

from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.questions import (
    KeptTypesQuestion,
    MessageQuestion,
    Question,
    SchemaIdQuestion,
)
from lake_assets.formats.schema_merge import goes_with


class Answers(Protocol):
    """A registry, whether what it said is kept or not."""

    def newest(self, subject: str, message: str | None = None) -> SchemaSet:
        """As `formats.confluent.registry.Registry.newest`."""

    def resolve(self, schemas: SchemaSet, ids: Collection[int]) -> SchemaSet:
        """As `formats.confluent.registry.Registry.resolve`."""

    def check(self, subject: str) -> None:
        """As `formats.confluent.registry.Registry.check`."""


class Declared(Protocol):
    """What a feed declares of such a format."""

    @property
    def subject(self) -> str:
        """Name of the subject in the registry."""


DeclaredT = TypeVar("DeclaredT", bound=Declared)


@dataclass(frozen=True, slots=True)
class RegisteredFormat(Generic[DeclaredT]):
    """A `formats.base.SchemaSource` whose schemas are the versions of a subject."""

    reads: ClassVar[tuple[str, ...]] = ("value", "schema_id")

    declared: DeclaredT
    registry: Answers

    def newest(self) -> SchemaSet:
        """The versions of the subject."""
        return self.registry.newest(self.declared.subject)

    def check(self) -> None:
        """Make sure that the registry answers."""
        self.registry.check(self.declared.subject)

    def for_next_batch(self, schemas: SchemaSet, now: float) -> SchemaSet:
        """Without ids that were unknown long ago, and without waiting ones."""
        return schemas.for_next_batch(now)

    def resolve(self, schemas: SchemaSet, questions: frozenset[Question]) -> SchemaSet:
        """With what the registry says of ids, the messages that rows have, and integers kept."""
        ids = _ids(questions)
        return _met(self.registry.resolve(schemas, ids) if ids else schemas, questions)

    def let_wait(self, schemas: SchemaSet, questions: frozenset[Question]) -> SchemaSet:
        """With the messages that rows have; rows of ids never met wait."""
        return _met(schemas.let_wait(_ids(questions)), questions)

    def goes_with(self, have: pa.Field, came: pa.Field) -> bool:
        """Whether a column holds a field's values, or gets a type that does."""
        return goes_with(have, came)

    def beside(self, name: str) -> str:  # noqa: ARG002
        """What a column's name has more than that of the one that it stands beside; or nothing."""
        return ""


def _ids(questions: frozenset[Question]) -> frozenset[int]:
    return frozenset(
        question.schema_id for question in questions if isinstance(question, SchemaIdQuestion)
    )


def _met(schemas: SchemaSet, questions: frozenset[Question]) -> SchemaSet:
    met = [
        (question.schema_id, question.path)
        for question in questions
        if isinstance(question, MessageQuestion)
    ]
    kept = [n for one in questions if isinstance(one, KeptTypesQuestion) for n in one.columns]
    schemas = schemas.keep_integers(kept) if kept else schemas
    return schemas.meet(met) if met else schemas
