"""Versions of a subject from JSON Schema documents, and values framed as Confluent's clients do."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lake_assets.formats.base import Decoded
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.json_schema.documents import compile_documents
from lake_assets.formats.json_schema.payload_format import JsonSchemaFormat
from lake_assets.formats.questions import MessageQuestion
from lake_assets.model.payload import JsonPayload
from lake_assets_tests.formats.framed_rows import bronze

NOTHING = pa.schema([])


class NoRegistry:
    """One that is never asked."""

    def newest(self, subject: str, message: str | None = None) -> SchemaSet:
        raise AssertionError(subject, message)

    def resolve(self, schemas: SchemaSet, ids: object) -> SchemaSet:
        raise AssertionError(schemas, ids)

    def check(self, subject: str) -> None:
        raise AssertionError(subject)


def document(**properties: Any) -> dict[str, Any]:
    """Of an object with these properties."""
    return {"type": "object", "properties": properties}


def subject(*documents: Any, imports: Mapping[str, Any] | None = None, **more: Any) -> SchemaSet:
    """A subject whose version n has schema id n."""
    texts = {name: json.dumps(one) for name, one in (imports or {}).items()}
    versions = {
        number: Version(
            number=number,
            descriptor_set=compile_documents("a test", json.dumps(one), texts),
        )
        for number, one in enumerate(documents, 1)
    }
    return SchemaSet(subject="s", versions=versions, **more)


def framed(schema_id: int, value: Any) -> bytes:
    """The bytes that a producer sends: of JSON, or as they are."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b"\0" + schema_id.to_bytes(4, "big") + data


def decode_all(
    known: SchemaSet,
    *values: bytes | None,
    have: pa.Schema = NOTHING,
    route: str | None = None,
    **rules: Any,
) -> Decoded:
    """Decode framed values; questions about versions are answered."""
    declared = JsonPayload.model_validate({"subject": "s", **rules})
    own = JsonSchemaFormat(declared, NoRegistry(), "f")
    names = () if route is None else (route,)
    found = own.plan(known, have, names).decode(bronze(*values))
    met = [one for one in found.questions if isinstance(one, MessageQuestion)]
    if met:
        known = own.resolve(known, frozenset(met))
        found = own.plan(known, have, names).decode(bronze(*values))
    return found


def rows_of(known: SchemaSet, *values: bytes | None, **changes: Any) -> list[Mapping[str, Any]]:
    """What tables get of framed values; of a refused one why."""
    found = decode_all(known, *values, **changes)
    answers = zip(
        found.columns.to_pylist(), found.reason.to_pylist(), found.detail.to_pylist(), strict=True
    )
    return [row if reason is None else {reason: detail} for row, reason, detail in answers]


def waiting(known: SchemaSet, *ids: int) -> SchemaSet:
    """The same while the registry does not answer for some ids."""
    return replace(known, waiting_ids=frozenset(ids))
