"""A `transform` of messages of several types: what it fills is there from the first row."""

import sys
from types import ModuleType

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.model.feeds import Feed
from lake_assets.runtime.protoc import ROOT, compile_files
from lake_assets.silver.transforming_format import with_transform
from lake_assets_tests.silver.given import bronze_batch

MESSAGES = """syntax = "proto3";
message Call { string phone = 1; }
message Visit { string phone = 1; string country = 2; }
"""

FEED = {
    "feed": "calls",
    "source": {"kafka": {"topic": "calls"}},
    "payload": {"protobuf": {"subject": "calls-value"}},
    "transform": "filling_countries:fill",
}


def fill(rows):
    """The country as it came, or by the phone's prefix, which no made-up phone has."""
    known = {"+47": "no", "+46": "se"}
    guess = [known.get((phone or "")[:3]) for phone in rows["phone"].to_pylist()]
    filled = pc.coalesce(rows["country"], pa.array(guess, pa.string()))
    return rows.set_column(rows.schema.get_field_index("country"), "country", filled)


@pytest.fixture
def calls(monkeypatch):
    module = ModuleType("filling_countries")
    module.__dict__["fill"] = fill
    monkeypatch.setitem(sys.modules, module.__name__, module)
    feed = Feed.model_validate(FEED)
    return with_transform(feed, ProtobufFormat(feed.payload.protobuf, object()))


def call(phone):
    return b"\0\0\0\0\7\0" + b"\x0a" + bytes([len(phone)]) + phone


def visit(phone, country):
    place = b"\x12" + bytes([len(country)]) + country
    return b"\0\0\0\0\7\x02\x02" + call(phone)[6:] + place


def taken(calls, schemas, have, *values):
    """The countries of some values, once what they ask is known; and all that was made of them."""
    for _ in range(3):
        decoder = calls.plan(schemas, have, ())
        decoded = decoder.decode(bronze_batch(*values))
        questions = frozenset(decoded.questions)
        if not questions:
            return decoded.columns["country"].to_pylist(), schemas, decoder
        schemas = calls.resolve(schemas, questions)
    pytest.fail(f"asks {questions} again")


def test_a_column_that_it_fills_is_a_table_s_before_a_message_has_brought_it(calls):
    compiled = compile_files("calls", {ROOT: MESSAGES})
    versions = {7: Version(number=1, descriptor_set=compiled)}
    schemas = SchemaSet(subject="calls-value", versions=versions)
    countries, schemas, decoder = taken(
        calls, schemas, pa.schema([]), call(b"+4711"), call(b"+9911")
    )
    assert countries == ["no", None]
    assert "country" in decoder.columns.names
    assert decoder.unused.names == []
    kinds = {tuple(kind.names) for kind in calls.made_by(schemas, ())}
    assert kinds == {("phone", "country")}  # so no rebuild drops it
    countries, _, decoder = taken(calls, schemas, decoder.columns, visit(b"+4611", b"us"))
    assert countries == ["us"]
