"""Envelopes and bodies of protobuf and Avro whose registry is in memory, and rows of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from lake_assets.errors import RegistryError
from lake_assets.formats.avro.payload_format import AvroFormat
from lake_assets.formats.base import Decoded
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.json.payload_format import JsonFormat
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.formats.wrapped.payload_format import WrappedFormat
from lake_assets.model.payload import Payload
from lake_assets_tests.formats.avro import given as avro
from lake_assets_tests.formats.framed_rows import bronze
from lake_assets_tests.formats.protobuf import given as protobuf

NOTHING = pa.schema([])


@dataclass
class Registry:
    """Has the versions of one subject, and tells of the first ones before it is asked for more."""

    schemas: SchemaSet
    told: int = 99
    is_away: bool = False
    asked: list[Any] = field(default_factory=list)

    def newest(self, subject: str, message: str | None = None) -> SchemaSet:
        first = sorted(self.schemas.versions)[: self.told]
        versions = {schema_id: self.schemas.versions[schema_id] for schema_id in first}
        return replace(self.schemas, subject=subject, message=message, versions=versions)

    def resolve(self, known: SchemaSet, ids: Any) -> SchemaSet:
        self.asked.append(set(ids))
        if self.is_away:
            raise RegistryError("schema registry", "cannot be reached", "Start it")
        others = ids - self.schemas.versions.keys()
        return replace(known, versions=self.schemas.versions).with_others(others, (), now=0.0)

    def check(self, subject: str) -> None:
        self.asked.append(subject)


def of_protobuf(*bodies: str, first_id: int = 1, **changes: Any) -> Registry:
    """Version n has the id `first_id` + n - 1."""
    versions = protobuf.versions(*bodies, first_id=first_id)
    return Registry(SchemaSet(subject="s", versions=versions), **changes)


def of_avro(*schemas: Any, first_id: int = 1, **changes: Any) -> Registry:
    """Likewise."""
    versions = avro.versions(*schemas, first_id=first_id)
    return Registry(SchemaSet(subject="s", versions=versions), **changes)


def wrapping(
    declared: Mapping[str, Any], outer: Registry | None, inner: Registry | None
) -> WrappedFormat:
    """The format of a payload, whose registries these are."""
    payload = Payload.model_validate(declared)
    assert payload.wrapped is not None

    def made(one: Any, registry: Any, taken: tuple[str, ...]) -> Any:
        kinds = {"avro": AvroFormat, "protobuf": ProtobufFormat}
        if one.format == "json":
            return JsonFormat("calls", one.declared, taken)
        return kinds[one.format](one.declared, registry)

    body = payload.wrapped
    return WrappedFormat(
        "calls", body, made(payload, outer, ()), lambda taken: made(body, inner, taken)
    )


def decode_all(
    made: WrappedFormat, *values: bytes | None, have: pa.Schema = NOTHING, route: Any = ()
) -> Decoded:
    """Decode, and answer questions until there are none."""
    schemas = made.newest()
    while True:
        found = made.plan(schemas, have, route).decode(bronze(*values))
        if not found.questions:
            return found
        schemas = made.resolve(schemas, frozenset(found.questions))


def rows_of(made: WrappedFormat, *values: bytes | None, **more: Any) -> list[Any]:
    """What tables get of rows; of a refused one, why."""
    found = decode_all(made, *values, **more)
    refusals = zip(found.reason.to_pylist(), found.detail.to_pylist(), strict=True)
    rows = zip(found.columns.to_pylist(), refusals, strict=True)
    return [refusal if refusal[0] else row for row, refusal in rows]
