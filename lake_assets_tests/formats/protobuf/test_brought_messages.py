"""Messages whose schemas files bring, as the versions of a subject: none before the first file."""

import base64
import json

import pyarrow as pa
import pytest

from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import ids_in
from lake_assets.formats.protobuf.brought_messages import brought_version
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.payload import Payload
from lake_assets.runtime.protoc import compile_files

NOTHING = pa.schema([])
OLD = 'syntax = "proto3"; message Other {} message Beat { int32 bpm = 1; string model = 2; }'
NEW = OLD.replace("string model = 2;", "reserved 2; string maker = 3;")
PAYLOAD = Payload.model_validate({"protobuf": {"file": "/beat.proto", "message": "Beat"}})


def schema(text):
    descriptors = compile_files("t", {"beat.proto": text}, "beat.proto")
    return json.dumps({"descriptors": base64.b64encode(descriptors).decode()})


def framed(number, message, path=b"\x02\x02"):
    return b"\0" + number.to_bytes(4, "big") + path + message


def decoded(made, schemas, values):
    """What becomes of values once all that is asked is answered; and the answers."""
    array, ids = pa.array(values, pa.binary()), ids_in(PAYLOAD)
    assert ids is not None
    rows = pa.RecordBatch.from_pydict({"value": array, "schema_id": ids(array)})
    for _ in range(3):
        found = made.plan(schemas, NOTHING, []).decode(rows)
        if not found.questions:
            return found, schemas
        schemas = made.resolve(schemas, frozenset(found.questions))
    raise AssertionError(found.questions)


def test_messages_are_decoded_by_what_came_with_their_files_and_what_came_since():
    brought = []
    around = Surroundings(registry_access=RegistryAccess(), brought=lambda: brought)
    made = ProtobufFormat.of("f", PAYLOAD.protobuf, around)
    made.check()
    schemas = made.newest()
    assert made.plan(schemas, NOTHING, []).columns.names == []
    brought.append((5, schema(OLD)))
    one = framed(5, b"\x08\x3c\x12\x01v")
    first, schemas = decoded(made, schemas, [one, framed(5, b"\xff"), framed(5, b"", b"\0")])
    assert first.columns.slice(0, 1).to_pylist() == [{"bpm": 60, "model": "v"}]
    assert first.reason.to_pylist() == [None, "undecodable", "foreign_message"]
    brought.append((6, schema(NEW)))
    both, schemas = decoded(made, schemas, [one, framed(6, b"\x08\x3d\x1a\x01w"), framed(7, b"")])
    assert [row["bpm"] for row in both.columns.slice(0, 2).to_pylist()] == [60, 61]
    assert both.columns["maker"].to_pylist()[:2] in ([None, "w"], ["", "w"])
    assert both.reason.to_pylist() == [None, None, "unknown_schema"]
    assert [one.number for one in schemas.versions.values()] == [1, 2]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"descriptors": "?"}', '{"descriptors": ""}'])
def test_what_is_no_schema_in_the_index_is_a_version_with_a_problem(text):
    assert brought_version(1, text).problem
