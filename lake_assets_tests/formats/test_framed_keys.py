import json
from dataclasses import replace

import pyarrow as pa
import pytest

from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.formats.column_reasons import versions_in
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets.formats.framed_keys import KeySchemas, framed_keys
from lake_assets.formats.questions import RowKeyQuestion
from lake_assets.formats.tombstones import with_tombstones
from lake_assets.formats.wrapped_schemas import WrappedSchemas
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.silver import questions
from lake_assets_tests.formats.avro.given import datum, framed, record, subject
from lake_assets_tests.formats.json_schema import given as json_schema
from lake_assets_tests.formats.protobuf import given as protobuf

VALUE = record(("id", "long"), ("shop", "string"), ("name", ["null", "string"]))
KEY = record(("id", "long"), ("shop", "string"), name="Key")
SHORT = record(("shop", "string"), name="Key")

SURROUNDINGS = Surroundings(registry_access=RegistryAccess())


def feed_of(value_subject="shops-value", language="avro", **more):
    return Feed.model_validate(
        {
            "feed": "shops",
            "source": {"kafka": {"topic": "shops"}},
            "payload": {language: {"subject": value_subject}, **more},
        }
    )


def tombstones(*keys):
    """Rows of bronze without values."""
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.nulls(len(keys), pa.binary()),
            "schema_id": pa.nulls(len(keys), pa.int64()),
        }
    )


class Rows:
    """A format that takes tombstones, and what is known of its schemas."""

    def __init__(self, by, language="avro", values=None, **known):
        feed, self.by = feed_of(language=language), by
        keys = framed_keys(feed, SURROUNDINGS, lambda: 100.0)
        self.format = with_tombstones("shops", by, format_of(feed, SURROUNDINGS), keys)
        self.schemas = replace(values or subject(VALUE), of_keys=KeySchemas(**known))

    def answered(self, *keys):
        """What becomes of keys once their versions are met."""
        answer = self.decoded(*keys)[1]
        if answer.questions:
            self.schemas = self.format.resolve(self.schemas, frozenset(answer.questions))
            answer = self.decoded(*keys)[1]
        assert answer.question.null_count == len(keys)
        return answer

    def decoded(self, *keys):
        decoder = self.format.plan(self.schemas, pa.schema([]), ())
        return decoder, decoder.decode(tombstones(*keys))


def key_of(schema_id, schema, **values):
    return framed(schema_id, datum(schema, values))


@pytest.mark.parametrize("by", [("id",), ("shop", "id")])
def test_a_framed_key_tells_the_row(by):
    rows = Rows(by, found=subject(KEY))
    key = key_of(1, KEY, id=9007199254740993, shop="nörd")
    _, answer = rows.decoded(key, b'{"id": 1, "shop": "a"}', key)
    values = {"id": 9007199254740993, "shop": "nörd"}
    wanted = {"_tombstone": True, **{name: values[name] for name in by}}
    found = [
        {name: value for name, value in row.items() if value is not None}
        for row in answer.columns.to_pylist()
    ]
    assert (found[0], found[2]) == (wanted, wanted)
    assert found[1]["id"] == 1
    assert answer.reason.null_count == 3
    assert [one.version for one in versions_in(rows.schemas)] == [1]


def test_what_a_framed_key_does_not_tell_is_refused_alone():
    known = subject(KEY, SHORT).with_others([8], [9], 1.0).meet([(1, FIRST)])
    rows = Rows(("id",), found=known)
    good = key_of(1, KEY, id=7, shop="a")
    keys = (good[:-3], good + b"x", key_of(2, SHORT, shop="a"), framed(8, b""), framed(9, b""))
    _, answer = rows.decoded(*keys, good)
    assert answer.reason.to_pylist() == ["empty_value"] * 5 + [None]
    details = answer.detail.to_pylist()
    assert all(one.startswith("its key does not tell id") for one in details[:5])
    assert details[3:5] == [
        "its key does not tell id: schema id 8",
        "its key does not tell id: schema id 9 is not of subject s",
    ]
    assert answer.columns["id"].to_pylist() == [None] * 5 + [7]


def test_a_schema_that_was_not_met_is_asked_about():
    for known in ({}, {"found": subject(KEY)}):
        rows = Rows(("id",), **known)
        _, answer = rows.decoded(framed(5, b"ab"), b'{"id": 1}', framed(5, b"a"))
        assert answer.question.to_pylist() == [0, None, 0]
        assert answer.questions == (RowKeyQuestion(5),)
        assert answer.reason.null_count == 3
        (asked,) = answer.questions
        assert questions.decoded(questions.encoded(asked)) == asked


def test_an_older_version_is_asked_about_when_its_first_key_comes():
    rows = Rows(("id",), found=subject(KEY, SHORT))
    _, answer = rows.decoded(key_of(1, KEY, id=7, shop="a"))
    assert answer.questions == (RowKeyQuestion(1, FIRST),)
    asked = frozenset(answer.questions)
    rows.schemas = rows.format.resolve(rows.schemas, asked)
    assert rows.decoded(key_of(1, KEY, id=7, shop="a"))[1].columns["id"].to_pylist() == [7]
    assert questions.decoded(questions.encoded(*asked)) in asked


def test_rows_wait_while_the_registry_does_not_answer():
    for known in ({}, {"found": subject(KEY)}):
        rows = Rows(("id",), **known)
        assert not rows.decoded()[0].has_waiting
        rows.schemas = rows.format.let_wait(rows.schemas, frozenset([RowKeyQuestion(5)]))
        decoder, answer = rows.decoded(framed(5, b"ab"), b'{"id": 1}')
        assert decoder.has_waiting
        assert answer.reason.to_pylist() == ["waiting", None]
        assert "does not answer for schema id 5" in answer.detail[0].as_py()
        rows.schemas = rows.format.for_next_batch(rows.schemas, 200.0)
        assert rows.decoded(framed(5, b"ab"))[1].questions == (RowKeyQuestion(5),)


def test_a_subject_of_keys_that_is_not_there_is_asked_about_again_later():
    rows = Rows(("id",), problem="does not exist", asked_at=100.0)
    _, answer = rows.decoded(framed(5, b"ab"))
    wanted = "its key does not tell id: subject shops-key does not exist"
    assert answer.detail.to_pylist() == [wanted]
    for now, asked in ((699.0, ()), (700.0, (RowKeyQuestion(5),))):
        rows.schemas = rows.format.for_next_batch(rows.schemas, now)
        assert rows.decoded(framed(5, b"ab"))[1].questions == asked


def test_keys_have_a_subject_only_where_values_have_one_of_their_topic():
    assert framed_keys(feed_of(), SURROUNDINGS, float) is not None
    assert framed_keys(feed_of("shop.Row"), SURROUNDINGS, float) is None
    for language in ("protobuf", "json"):
        found = framed_keys(feed_of(language=language), SURROUNDINGS, float)
        assert found is not None
        assert found.subject == "shops-key"
        assert framed_keys(feed_of("shop.Row", language), SURROUNDINGS, float) is None
    text = {"json": {"schema": json.dumps("id bigint").strip('"')}}
    other = feed_of().model_copy(update={"payload": type(feed_of().payload).model_validate(text)})
    assert framed_keys(other, SURROUNDINGS, float) is None


def test_nothing_changes_where_nothing_is_known_anew():
    for known in ({}, {"found": subject(KEY)}, {"problem": "is gone", "asked_at": 100.0}):
        rows = Rows(("id",), **known)
        assert rows.format.for_next_batch(rows.schemas, 200.0) is rows.schemas
        assert rows.format.resolve(rows.schemas, frozenset()) is rows.schemas


def test_keys_of_envelopes_are_read_as_those_of_other_values():
    body = {"column": "body", "avro": {"subject": "body"}}
    feed = feed_of(wrapped=body)
    keys = framed_keys(feed, SURROUNDINGS, lambda: 100.0)
    made = with_tombstones("shops", ("id",), format_of(feed, SURROUNDINGS), keys)
    outer, inner = subject(record(("id", "long"), ("body", "bytes"))), subject(record(("a", "int")))
    schemas = WrappedSchemas(outer, inner)
    key = key_of(1, KEY, id=7, shop="a")
    batch = tombstones(key)

    assert made.for_next_batch(schemas, 1.0) is schemas
    asked = made.plan(schemas, pa.schema([]), ()).decode(batch).questions
    assert asked == (RowKeyQuestion(1),)
    waiting = made.let_wait(schemas, frozenset(asked))
    assert made.plan(waiting, pa.schema([]), ()).decode(batch).reason.to_pylist() == ["waiting"]
    found = replace(schemas, of_keys=KeySchemas(found=subject(KEY)))
    after = found.changed(subject(record(("id", "long"), ("body", "bytes"))), inner)
    (row,) = made.plan(after, pa.schema([]), ()).decode(batch).columns.to_pylist()
    assert row == {"id": 7, "a": None, "_tombstone": True}


PROTO_VALUE = protobuf.schemas("message Row { int64 id = 1; string shop = 2; double price = 3; }")
PROTO_KEYS = (
    "message Key { int64 id = 1; string shop = 2; }",
    "message Other { bool a = 1; message Key { string shop = 5; int64 id = 6; string b = 7; } }",
)


def test_a_key_of_protobuf_tells_the_row_by_its_message():
    known = protobuf.schemas(*PROTO_KEYS).with_others([8], [9], 1.0)
    rows = Rows(("id", "shop"), "protobuf", PROTO_VALUE, found=known)
    first = protobuf.message_of(PROTO_KEYS[0], "Key", id=9007199254740993, shop="nörd")
    # Without a value on the wire: what proto3 says of fields of which nothing is sent.
    zero = protobuf.message_of(PROTO_KEYS[0], "Key")
    nested = protobuf.message_of(PROTO_KEYS[1], "Other.Key", shop="b", id=-2, b="more")
    other = protobuf.message_of(PROTO_KEYS[1], "Other", a=True)
    answer = rows.answered(
        protobuf.framed(1, first),
        protobuf.framed(1, zero),
        protobuf.framed(2, nested, b"\4\0\0"),
        protobuf.framed(2, other),
        protobuf.framed(2, nested, b"\2\x10"),
        protobuf.framed(8, first),
        protobuf.framed(9, first),
        protobuf.framed(1, first)[:-1],
    )
    found = [(row["id"], row["shop"]) for row in answer.columns.to_pylist()]
    assert found[:3] == [(9007199254740993, "nörd"), (0, ""), (-2, "b")]
    assert found[3:] == [(None, None)] * 5
    assert answer.columns["_tombstone"].to_pylist() == [True] * 3 + [None] * 5
    assert answer.reason.to_pylist() == [None] * 3 + ["empty_value"] * 5
    details = answer.detail.to_pylist()[3:]
    assert all(one.startswith("its key does not tell id, shop") for one in details)
    assert details[2:4] == [
        "its key does not tell id, shop: schema id 8",
        "its key does not tell id, shop: schema id 9 is not of subject s",
    ]


def test_a_key_of_json_schema_tells_the_row_by_its_properties():
    text, integer = {"type": "string"}, {"type": "integer"}
    values = json_schema.subject(json_schema.document(id=integer, shop=text))
    known = json_schema.subject(
        json_schema.document(id=integer, shop=text, more=integer),
        json_schema.document(shop=text, id=integer),
        {"type": "integer"},
    ).with_others([8], [9], 1.0)
    rows = Rows(("id", "shop"), "json", values, found=known)
    good = {"id": 9007199254740993, "shop": "nörd"}
    answer = rows.answered(
        json_schema.framed(1, {**good, "more": "no integer", "new": 1}),
        json_schema.framed(2, {"shop": "", "id": -2}),
        json_schema.framed(2, {"shop": "a"}),
        json_schema.framed(2, {"shop": "a", "id": "7"}),
        json_schema.framed(2, b"{"),
        json_schema.framed(3, 7),
        json_schema.framed(8, good),
        json_schema.framed(9, good),
    )
    found = [(row["id"], row["shop"]) for row in answer.columns.to_pylist()]
    assert found == [(9007199254740993, "nörd"), (-2, ""), *[(None, None)] * 6]
    assert answer.reason.to_pylist() == [None] * 2 + ["empty_value"] * 6
    details = answer.detail.to_pylist()[2:]
    assert all(one.startswith("its key does not tell id, shop") for one in details)
    assert details[4:] == [
        "its key does not tell id, shop: schema id 8",
        "its key does not tell id, shop: schema id 9 is not of subject s",
    ]
