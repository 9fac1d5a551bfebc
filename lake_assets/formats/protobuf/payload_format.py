"""Protobuf as a payload format: the driver's side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from lake_assets.formats.base import Surroundings
from lake_assets.formats.confluent.brought_schemas import BroughtSchemas
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.registered_format import RegisteredFormat
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.protobuf.arrow import ProtobufDecoder
from lake_assets.formats.protobuf.brought_messages import brought_version
from lake_assets.formats.protobuf.decoding_plan import made_by, plan_decoding
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.model.protobuf_payload import ProtobufPayload


@dataclass(frozen=True, slots=True)
class ProtobufFormat(RegisteredFormat[ProtobufPayload]):
    """A `formats.base.PayloadFormat` whose schemas are the versions of a subject, or files' own."""

    @classmethod
    def of(cls, feed: str, declared: ProtobufPayload, surroundings: Surroundings) -> Self:  # noqa: ARG003
        """With a registry whose answers are kept, if there is a folder for them."""
        if declared.file is not None:
            return cls(declared, BroughtSchemas(surroundings.brought, brought_version))
        registry = Registry(surroundings.registry, PROTOBUF, surroundings.registry_access)
        if surroundings.cache is None:
            return cls(declared, registry)
        return cls(declared, CachedRegistry(registry, SchemaCache(surroundings.cache)))

    def newest(self) -> SchemaSet:
        """The versions of the subject, for the one message that is taken, if it is one."""
        return self.registry.newest(self.declared.subject, self.declared.message)

    def plan(self, schemas: SchemaSet, have: pa.Schema, route: Sequence[str]) -> ProtobufDecoder:
        """Every version decodes its own; messages are taken by the first column of the route."""
        are_brought, key = self.declared.file is not None, next(iter(route), None)
        return ProtobufDecoder(plan_decoding(schemas, have, key, may_be_none=are_brought))

    def made_by(self, schemas: SchemaSet, route: Sequence[str]) -> list[pa.Schema]:
        """The columns of each message that rows may have."""
        return made_by(schemas, next(iter(route), None))
