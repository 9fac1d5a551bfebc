"""Avro as a payload format: the driver's side."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import pyarrow as pa

from lake_assets.formats.avro.decoder import AvroDecoder
from lake_assets.formats.avro.decoding_plan import made_by, plan_decoding
from lake_assets.formats.avro.language import AVRO
from lake_assets.formats.base import (
    MessageQuestion,
    Question,
    SchemaIdQuestion,
    Surroundings,
)
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.model.payload import AvroPayload

_CACHE = "avro"
"""Folder of what is kept: a subject may be read as protobuf by another feed, or was by this one."""


class Answers(Protocol):
    """A registry, whether what it said is kept or not."""

    def newest(self, subject: str) -> SchemaSet:
        """As `formats.confluent.registry.Registry.newest`."""

    def resolve(self, schemas: SchemaSet, ids: Collection[int]) -> SchemaSet:
        """As `formats.confluent.registry.Registry.resolve`."""

    def check(self, subject: str) -> None:
        """As `formats.confluent.registry.Registry.check`."""


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """A `formats.base.PayloadFormat` whose schemas are the versions of a subject."""

    reads: ClassVar[tuple[str, ...]] = ("value", "schema_id")

    declared: AvroPayload
    registry: Answers

    @classmethod
    def of(cls, feed: str, declared: AvroPayload, surroundings: Surroundings) -> Self:  # noqa: ARG003
        """With a registry whose answers are kept, if there is a folder for them."""
        registry = Registry(surroundings.registry, AVRO, surroundings.registry_access)
        if surroundings.cache is None:
            return cls(declared, registry)
        return cls(declared, CachedRegistry(registry, SchemaCache(surroundings.cache / _CACHE)))

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
        """With what the registry says of ids, and with the versions that rows have."""
        ids = _ids(questions)
        return _met(self.registry.resolve(schemas, ids) if ids else schemas, questions)

    def let_wait(self, schemas: SchemaSet, questions: frozenset[Question]) -> SchemaSet:
        """With the versions that rows have; rows of ids never met wait."""
        return _met(schemas.let_wait(_ids(questions)), questions)

    def plan(self, schemas: SchemaSet, have: pa.Schema, route: Sequence[str]) -> AvroDecoder:
        """Every writer's rows, resolved to all versions together; the first of the route counts."""
        return AvroDecoder(plan_decoding(schemas, have, next(iter(route), None)))

    def made_by(self, schemas: SchemaSet, route: Sequence[str]) -> list[pa.Schema]:
        """The columns of the newest version, and of those whose rows were met."""
        return made_by(schemas, next(iter(route), None))


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
    return schemas.meet(met) if met else schemas
