"""Schemas that rows bring, as versions: what is known, unknown, and never a reason to wait."""

import json

import pyarrow as pa

from lake_assets.formats.avro.payload_format import AvroFormat
from lake_assets.formats.base import Surroundings
from lake_assets.formats.questions import MessageQuestion, SchemaIdQuestion
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.payload import AvroPayload
from lake_assets_tests.formats.avro.given import NOTHING, datum, record

OLD, NEW = record(("a", "int")), record(("a", "long"), ("b", ["null", "string"]))
LOOP = record(("next", ["null", "event"]))


def format_of(brought):
    around = Surroundings(registry_access=RegistryAccess(), brought=lambda: brought)
    return AvroFormat.of("f", AvroPayload(), around)


def single(number, schema, value):
    return b"\xc3\x01" + number.to_bytes(8, "little", signed=True) + datum(schema, value)


def batch(*pairs):
    values, ids = zip(*pairs, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, pa.binary()), pa.array(ids, pa.int64())], names=["value", "schema_id"]
    )


def test_rows_are_decoded_by_what_came_with_them_and_what_came_since():
    brought = []
    made = format_of(brought)
    made.check()
    schemas = made.newest()
    assert made.plan(schemas, NOTHING, []).columns.names == []
    rows = batch(
        (single(-5, OLD, {"a": 1}), -5), (single(9, NEW, {"a": 2**40, "b": "x"}), 9), (b"?", None)
    )
    asked = made.plan(schemas, NOTHING, []).decode(rows)
    assert set(asked.questions) == {SchemaIdQuestion(-5), SchemaIdQuestion(9)}
    brought += [(-5, json.dumps(OLD)), (9, json.dumps(NEW))]
    schemas = made.resolve(schemas, frozenset(asked.questions))
    decoded = made.plan(schemas, NOTHING, []).decode(rows)
    if decoded.questions:
        assert {type(one) for one in decoded.questions} == {MessageQuestion}
        schemas = made.resolve(schemas, frozenset(decoded.questions))
        decoded = made.plan(schemas, NOTHING, []).decode(rows)
    assert decoded.columns.to_pylist()[:2] == [{"a": 1, "b": None}, {"a": 2**40, "b": "x"}]
    assert decoded.reason.to_pylist() == [None, None, "not_framed"]
    assert [one.number for one in schemas.versions.values()] == [1, 2]


def test_what_nobody_brought_is_unknown_and_what_makes_no_columns_is_refused():
    made = format_of([(1, json.dumps(LOOP)), (2, json.dumps(OLD))])
    schemas = made.resolve(made.newest(), frozenset({SchemaIdQuestion(3)}))
    rows = batch((single(3, OLD, {"a": 1}), 3), (single(1, OLD, {"a": 1}), 1))
    decoded = made.plan(schemas, NOTHING, []).decode(rows)
    assert decoded.reason.to_pylist() == ["unknown_schema", "incompatible_schema"]
    alone = format_of([(1, json.dumps(LOOP))])
    decoded = alone.plan(alone.newest(), NOTHING, []).decode(rows.slice(1))
    assert decoded.reason.to_pylist() == ["incompatible_schema"]
    assert not decoded.questions


def test_a_schema_with_a_default_that_is_none_decodes_the_rows_of_its_writer():
    wrong = {**OLD, "fields": [{**OLD["fields"][0], "default": "no number"}]}
    made = format_of([(1, json.dumps(wrong))])
    schemas = made.newest()
    rows = batch((single(1, OLD, {"a": 1}), 1))
    asked = made.plan(schemas, NOTHING, []).decode(rows)
    schemas = made.resolve(schemas, frozenset(asked.questions))
    decoded = made.plan(schemas, NOTHING, []).decode(rows)
    assert decoded.columns["a"].to_pylist() == [1]
