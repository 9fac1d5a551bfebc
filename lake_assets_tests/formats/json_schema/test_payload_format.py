"""JSON Schema as a payload format, by the contract of all, and with a registry that answers."""

import json
from dataclasses import replace

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference

from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of, ids_in
from lake_assets.formats.column_reasons import reasons_of
from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.formats.json_schema.payload_format import JsonSchemaFormat
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.schema_history import Reason, Why
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.contract import check_format
from lake_assets_tests.formats.framed_rows import bronze
from lake_assets_tests.formats.json_schema.given import NoRegistry, document, framed, subject

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


class Fixed(NoRegistry):
    """A registry that has some versions, and learnt of one more."""

    def __init__(self, first, later):
        self.first, self.later = first, later

    def newest(self, subject, message=None):  # noqa: ARG002
        return self.first

    def resolve(self, schemas, ids):
        known = replace(schemas, versions=self.later.versions)
        return known.with_others(unknown=known.unanswered(ids), foreign=(), now=0)


def test_it_keeps_the_contract():
    later = subject(document(a=NUMBER, old=TEXT), document(a=NUMBER), document(a={}, b=TEXT))
    first = replace(later, versions={number: later.versions[number] for number in (1, 2)})
    own = JsonSchemaFormat(JsonPayload(subject="s"), Fixed(first, later), "f")
    values = [framed(1, {"old": "x"}), framed(2, {"a": 1, "c": 2}), framed(3, {"b": "y"})]
    decoder = check_format(own, bronze(*values, framed(9, {}), None, b"x", framed(2, b"{")))
    assert decoder.columns.names == ["a", "_rescued", "b", "old"]


def test_a_feed_with_a_subject_is_framed_and_one_without_is_not():
    assert ids_in(Payload.model_validate({"json": {"subject": "s"}})) is not None
    assert ids_in(Payload.model_validate({"json": {"schema": "a int"}})) is None


def test_why_a_column_is_there_is_told():
    known = subject(document(a=NUMBER), document(a=NUMBER, b=TEXT))
    own = JsonSchemaFormat(JsonPayload(subject="s"), NoRegistry(), "f")
    payload = Payload.model_validate({"json": {"subject": "s"}})
    why = reasons_of(payload, own, known, ())
    assert why("b", "string") == Reason(Why.REGISTRY, 2, 2, "s")
    assert why("_rescued", "string") == Reason(Why.DECLARED)
    assert why("c", "string") == Reason(Why.FOUND)


@pytest.mark.kafka
def test_a_registry_tells_of_versions_and_of_what_they_refer_to(services, tmp_path):
    topic = Topic(services)
    whose = f"{topic.subject}-place"
    with registry_client(services.registry, RegistryAccess()) as client:
        place = {"properties": {"x": {"type": "number"}}, "description": whose}
        client.register_schema(whose, Schema(json.dumps(place), "JSON"))
        properties = {"game": TEXT, "place": {"$ref": "place.json"}}
        text = json.dumps({**document(**properties), "description": topic.subject})
        made = Schema(text, "JSON", [SchemaReference("place.json", whose, 1)])
        schema_id = client.register_schema(topic.subject, made)
    feed = topic.feed(payload=Payload.model_validate({"json": {"subject": topic.subject}}))
    around = Surroundings(
        registry=services.registry, registry_access=RegistryAccess(), cache=tmp_path
    )
    own = format_of(feed, around)
    rows = bronze(framed(schema_id, {"game": "uno", "place": {"x": 1}}), framed(2**31 - 1, {}))
    found = check_format(own, rows).decode(rows)
    assert found.columns.to_pylist()[0] == {
        "game": "uno",
        "place": {"x": 1.0},
        "_rescued": None,
    }
    assert found.reason.to_pylist() == [None, "unknown_schema"]
    away = replace(around, registry="http://127.0.0.1:9")
    assert format_of(feed, away).newest().versions == own.newest().versions
