"""Versions of a subject from .proto texts, and messages framed as Confluent's clients do it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lake_assets.formats.base import Decoded
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.protobuf.arrow import decode
from lake_assets.formats.protobuf.decoders import descriptor_of
from lake_assets.formats.protobuf.decoding import Decoding
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.formats.protobuf.reader_assignment import Assigned
from lake_assets.formats.questions import Question
from lake_assets.runtime.protoc import ROOT, compile_files

NOTHING = pa.schema([])


@cache
def descriptor_set_of(body: str) -> bytes:
    """Compile a .proto text without its `syntax` line."""
    return compile_files("a test", {ROOT: f'syntax = "proto3"; {body}'})


def versions(*bodies: str, first_id: int = 1) -> dict[int, Version]:
    """Version 1, 2, ... with schema ids counted from `first_id`."""
    return {
        first_id + index: Version(number=index + 1, descriptor_set=descriptor_set_of(body))
        for index, body in enumerate(bodies)
    }


def schemas(*bodies: str, **changes: Any) -> SchemaSet:
    """A subject whose version n has schema id n."""
    return SchemaSet(**{"subject": "s", "versions": versions(*bodies), **changes})


def message_of(body: str, name: str = "event", **values: Any) -> Message:
    """A message of google.protobuf."""
    return GetMessageClass(descriptor_of(name, descriptor_set_of(body)))(**values)


def framed(schema_id: int, message: Message, index: bytes = b"\0") -> bytes:
    """The bytes that a producer sends."""
    return b"\0" + schema_id.to_bytes(4, "big") + index + message.SerializeToString()


def decode_all(decoding: Decoding, *values: bytes) -> Decoded:
    """Decode framed messages."""
    ids = [int.from_bytes(value[1:5], "big") for value in values]
    return decode(pa.array(values, pa.binary()), pa.array(ids, pa.int64()), decoding)


def asked(found: Decoded | Assigned) -> list[Question | None]:
    """The question of each row."""
    return [None if i is None else found.questions[i] for i in found.question.to_pylist()]


def rows_of(
    known: SchemaSet, *values: bytes, have: pa.Schema = NOTHING, route: str | None = None
) -> list[Mapping[str, Any]]:
    """What tables with the columns `have` get of framed messages; questions are answered."""
    found = decode_all(plan_decoding(known, have, route), *values)
    if found.questions:
        known = known.meet((one.schema_id, one.path) for one in found.questions)
        found = decode_all(plan_decoding(known, have, route), *values)
    assert found.question.null_count == len(values)
    refusals = zip(found.reason.to_pylist(), found.detail.to_pylist(), strict=True)
    rows = zip(found.columns.to_pylist(), refusals, strict=True)
    return [{"refused": refusal} if refusal[0] else row for row, refusal in rows]
