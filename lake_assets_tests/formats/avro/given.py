"""Versions of a subject from Avro schemas, and datums framed as Confluent's clients do it."""

import io
import json
from collections.abc import Mapping
from typing import Any

import avro.io
import avro.schema
import pyarrow as pa

from lake_assets.formats.avro.compile import compile_schema
from lake_assets.formats.avro.decoder import AvroDecoder
from lake_assets.formats.avro.decoding_plan import plan_decoding
from lake_assets.formats.base import Decoded
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.questions import MessageQuestion
from lake_assets_tests.formats.framed_rows import bronze

NOTHING = pa.schema([])


def record(*fields: Any, name: str = "event") -> dict[str, Any]:
    """A record of fields: each a pair of name and type, or all that is said of it."""
    pairs = [one if isinstance(one, dict) else {"name": one[0], "type": one[1]} for one in fields]
    return {"type": "record", "name": name, "fields": pairs}


def versions(*schemas: Any, first_id: int = 1) -> dict[int, Version]:
    """Version 1, 2, ... with schema ids counted from `first_id`."""
    return {
        first_id + index: Version(
            number=index + 1, descriptor_set=compile_schema("a test", json.dumps(schema), {})
        )
        for index, schema in enumerate(schemas)
    }


def subject(*schemas: Any, **changes: Any) -> SchemaSet:
    """A subject whose version n has schema id n."""
    return SchemaSet(**{"subject": "s", "versions": versions(*schemas), **changes})


def datum(schema: Any, value: Any) -> bytes:
    """What Apache's writer makes of a value."""
    out = io.BytesIO()
    parsed = avro.schema.parse(json.dumps(schema))
    avro.io.DatumWriter(parsed).write(value, avro.io.BinaryEncoder(out))
    return out.getvalue()


def framed(schema_id: int, data: bytes) -> bytes:
    """The bytes that a producer sends."""
    return b"\0" + schema_id.to_bytes(4, "big") + data


def decode_all(
    known: SchemaSet, *values: bytes | None, have: pa.Schema = NOTHING, route: str | None = None
) -> Decoded:
    """Decode framed values; questions about versions are answered."""
    found = AvroDecoder(plan_decoding(known, have, route)).decode(bronze(*values))
    if found.questions:
        met = [one for one in found.questions if isinstance(one, MessageQuestion)]
        known = known.meet((one.schema_id, one.path) for one in met)
        found = AvroDecoder(plan_decoding(known, have, route)).decode(bronze(*values))
    return found


def rows_of(known: SchemaSet, *values: bytes | None, **changes: Any) -> list[Mapping[str, Any]]:
    """What tables get of framed values; of a refused one why."""
    found = decode_all(known, *values, **changes)
    assert found.question.null_count == len(values)
    refusals = zip(found.reason.to_pylist(), found.detail.to_pylist(), strict=True)
    rows = zip(found.columns.to_pylist(), refusals, strict=True)
    return [{"refused": refusal} if refusal[0] else row for row, refusal in rows]


def row_of(schema: Any, value: Any) -> Mapping[str, Any]:
    """The one row of a value of the subject's only version."""
    (row,) = rows_of(subject(schema), framed(1, datum(schema, value)))
    return row
