"""Avro as a payload format: the driver's side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from lake_assets.formats.avro.compile import brought_version
from lake_assets.formats.avro.decoder import AvroDecoder
from lake_assets.formats.avro.decoding_plan import made_by, plan_decoding
from lake_assets.formats.avro.language import AVRO
from lake_assets.formats.avro.other_types import beside
from lake_assets.formats.avro.recorded_versions import with_recorded
from lake_assets.formats.base import Surroundings
from lake_assets.formats.confluent.brought_schemas import BroughtSchemas
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.registered_format import RegisteredFormat
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.questions import KnownVersionsQuestion, Question
from lake_assets.formats.schema_merge import goes_with
from lake_assets.model.payload import AvroPayload

_CACHE = "avro"
"""Folder of what is kept: a subject may be read as protobuf by another feed, or was by this one."""


@dataclass(frozen=True, slots=True)
class AvroFormat(RegisteredFormat[AvroPayload]):
    """A `formats.base.PayloadFormat` whose schemas are the versions of a subject, or rows' own."""

    @classmethod
    def of(cls, feed: str, declared: AvroPayload, surroundings: Surroundings) -> Self:  # noqa: ARG003
        """With a registry whose answers are kept, if there is a folder for them."""
        if not declared.has_subject:
            return cls(declared, BroughtSchemas(surroundings.brought, brought_version))
        access = surroundings.registry_access
        # Members of unions are counted over all versions.
        registry = Registry(surroundings.registry, AVRO, access, takes_deleted=True)
        if surroundings.cache is None:
            return cls(declared, registry)
        return cls(declared, CachedRegistry(registry, SchemaCache(surroundings.cache / _CACHE)))

    def resolve(self, schemas: SchemaSet, questions: frozenset[Question]) -> SchemaSet:
        """As any registered format, and with versions that the tables were made with."""
        recorded = [
            version
            for question in questions
            if isinstance(question, KnownVersionsQuestion)
            for version in question.versions
            if version.subject in {schemas.subject, ""}
        ]
        schemas = with_recorded(schemas, recorded) if recorded else schemas
        return RegisteredFormat.resolve(self, schemas, questions)

    def plan(self, schemas: SchemaSet, have: pa.Schema, route: Sequence[str]) -> AvroDecoder:
        """Every writer's rows, resolved to all versions together; the first of the route counts."""
        are_brought = not self.declared.has_subject
        key = next(iter(route), None)
        return AvroDecoder(plan_decoding(schemas, have, key, are_brought=are_brought))

    def goes_with(self, have: pa.Field, came: pa.Field) -> bool:
        """Whether a column holds a field's values, or gets a type that does."""
        return goes_with(have, came, promotes=True)

    def beside(self, name: str) -> str:
        """What the name of a column for other types has more than the other's; or nothing."""
        return beside(name)

    def made_by(self, schemas: SchemaSet, route: Sequence[str]) -> list[pa.Schema]:
        """The columns of the newest version, and of those whose rows were met."""
        return made_by(schemas, next(iter(route), None))
