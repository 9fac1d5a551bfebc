"""Envelopes and bodies read together, by formats whose schemas are in memory."""

import base64
import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import FeedError, RegistryError
from lake_assets.formats.column_reasons import versions_in
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets.formats.questions import (
    KeptTypesQuestion,
    KnownVersionsQuestion,
    MessageQuestion,
    SchemaIdQuestion,
    WrappedQuestion,
)
from lake_assets.formats.tombstones import with_tombstones
from lake_assets.formats.wrapped.column_reasons import reasons_of_feed
from lake_assets.formats.wrapped.payload_format import WrappedFormat
from lake_assets.formats.wrapped_schemas import WrappedSchemas
from lake_assets.model.payload import Payload
from lake_assets.model.schema_history import Reason, RegisteredVersion, Why
from lake_assets_tests.formats.avro import given as avro
from lake_assets_tests.formats.avro.given import datum, record
from lake_assets_tests.formats.contract import check_format
from lake_assets_tests.formats.framed_rows import bronze
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.formats.subjects import given as several
from lake_assets_tests.formats.wrapped.given import (
    NOTHING,
    decode_all,
    of_avro,
    of_protobuf,
    rows_of,
    wrapping,
)

ENVELOPE = "message envelope { string tenant = 1; bytes body = 2; int64 body_id = 3; }"
CALL = "message call { string caller = 1; int32 seconds = 2; }"
LONGER = "message call { string caller = 1; int64 seconds = 2; optional string city = 3; }"
RENAMED = "message call { string from = 1; int64 seconds = 2; }"
TYPES = "message call { string caller = 1; } message text { string words = 1; }"

BOTH: dict[str, Any] = {
    "protobuf": {"subject": "envelope"},
    "wrapped": {"column": "body", "protobuf": {"subject": "body"}},
}
BESIDE = {**BOTH, "wrapped": {**BOTH["wrapped"], "schema_id": "body_id"}}


def body(**values):
    return framed(11, message_of(CALL, "call", **values))


def envelope(wrapped=b"", schema_id=1, text=ENVELOPE, **values):
    message = message_of(text, "envelope", **values)
    message.body = wrapped  # type: ignore[attr-defined]
    return framed(schema_id, message)


def of(*bodies, declared=BOTH, outer=ENVELOPE, **changes):
    inner = of_protobuf(*(bodies or (CALL,)), first_id=11, **changes)
    return wrapping(declared, of_protobuf(outer), inner)


def test_columns_are_the_envelopes_without_the_bytes_and_the_bodys():
    found = rows_of(of(), envelope(body(caller="ann", seconds=7), tenant="a"))
    assert found == [{"tenant": "a", "body_id": 0, "caller": "ann", "seconds": 7}]


def test_it_keeps_the_contract_through_new_versions_and_bad_rows_of_both():
    made = of(CALL, LONGER, told=1)
    longer = framed(12, message_of(LONGER, "call", caller="bob", seconds=1, city="Graz"))
    good = envelope(body(caller="ann"), tenant="a")
    inner = (b"", b"x", body()[:-1] + b"\xff", framed(99, message_of(CALL, "call")), longer)
    outer = (None, b"", b"x", good[:-1], framed(98, message_of(ENVELOPE, "envelope")))
    plan = check_format(made, bronze(good, *map(envelope, inner), *outer, good))
    assert plan.columns.names == ["tenant", "body_id", "caller", "seconds", "city"]


def test_what_is_wrong_with_a_body_says_that_it_is_the_body():
    bad = message_of(CALL, "call", caller="x").SerializeToString() + b"\xff"
    values = [b"", b"\0\0\0", b"\0\0\0\0\x63\0", b"\0\0\0\0\x0b\0" + bad]
    found = rows_of(of(), *map(envelope, values), None, b"\x01")
    assert found[:3] == [
        ("empty_value", "in body"),
        ("not_framed", "in body"),
        ("unknown_schema", "in body: schema id 99"),
    ]
    assert found[3][0] == "undecodable"
    assert found[3][1].startswith("in body: ")
    assert found[4:] == [("empty_value", None), ("not_framed", None)]


def test_the_id_may_be_beside_the_bytes():
    raw = message_of(CALL, "call", caller="ann").SerializeToString()
    values = [
        envelope(raw, body_id=11),
        envelope(b"", body_id=11),  # a message of defaults has no bytes
        envelope(b""),
        envelope(raw),
        envelope(raw, body_id=-1),
        envelope(raw, body_id=2**32 + 11),
        envelope(raw, body_id=77),
    ]
    no_id = ("not_framed", "in body: body_id has no id of a schema")
    assert rows_of(of(declared=BESIDE), *values) == [
        {"tenant": "", "body_id": 11, "caller": "ann", "seconds": 0},
        {"tenant": "", "body_id": 11, "caller": "", "seconds": 0},
        ("empty_value", "in body"),
        *(no_id,) * 3,
        ("unknown_schema", "in body: schema id 77"),
    ]


AVRO_ENVELOPE = record(("tenant", "string"), ("body", ["null", "bytes"]), ("id", ["null", "int"]))
AVRO_BODY = record(("n", "int"))


@pytest.mark.parametrize("is_beside", [False, True])
def test_avro_wraps_avro(is_beside):
    wrapped = {"column": "body", "avro": {"subject": "body"}}
    wrapped |= {"schema_id": "id"} if is_beside else {}
    outer, inner = of_avro(AVRO_ENVELOPE), of_avro(AVRO_BODY, first_id=11)
    made = wrapping({"avro": {"subject": "envelope"}, "wrapped": wrapped}, outer, inner)
    data = datum(AVRO_BODY, {"n": 5})
    whole = data if is_beside else avro.framed(11, data)
    rows = [
        {"tenant": "a", "body": whole, "id": 11},
        {"tenant": "b", "body": None, "id": None},
        {"tenant": "c", "body": b"", "id": None},
    ]
    values = [avro.framed(1, datum(AVRO_ENVELOPE, row)) for row in rows]
    empty = ("empty_value", "in body")
    assert rows_of(made, *values) == [{"tenant": "a", "id": 11, "n": 5}, empty, empty]


def test_json_wraps_protobuf_in_base64_and_protobuf_wraps_json():
    declared = {
        "json": {"schema": "tenant string, body binary"},
        "wrapped": {"column": "body", "protobuf": {"subject": "body"}},
    }
    made = wrapping(declared, None, of_protobuf(CALL, first_id=11))
    text = base64.b64encode(body(caller="ann")).decode()
    value = json.dumps({"tenant": "a", "body": text}).encode()
    assert rows_of(made, value, b'{"tenant": "b"}') == [
        {"tenant": "a", "_rescued": None, "caller": "ann", "seconds": 0},
        ("empty_value", "in body"),
    ]
    declared = {
        "protobuf": {"subject": "envelope"},
        "wrapped": {"column": "body", "json": {"schema": "n int"}},
    }
    made = wrapping(declared, of_protobuf(ENVELOPE), None)
    found = rows_of(made, envelope(b'{"n": 3}'), envelope(b"{"))
    assert found[0] == {"tenant": "", "body_id": 0, "n": 3, "_rescued": None}
    assert found[1][0] == "undecodable"
    assert found[1][1].startswith("in body: ")


NAMES = st.sampled_from(["ann", "bob", ""])
ROWS = st.one_of(
    st.builds(
        lambda t, c, s: envelope(body(caller=c, seconds=s), tenant=t),
        NAMES,
        NAMES,
        st.integers(-5, 5),
    ),
    st.builds(lambda t, b: envelope(b, tenant=t), NAMES, st.binary(max_size=9)),
    st.builds(lambda b: b"\0\0\0\0\x01\0" + b, st.binary(max_size=9)),
    st.binary(max_size=9),
    st.none(),
)


@settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(ROWS, max_size=12), st.booleans())
def test_it_is_the_envelope_decoded_and_then_the_body_for_itself(values, is_beside):
    made = of(declared=BESIDE if is_beside else BOTH)
    found = decode_all(made, *values)
    for row, value in enumerate(values):
        outer = made.outer.plan(made.outer.newest(), NOTHING, ()).decode(bronze(value))
        got = found.columns.slice(row, 1).to_pylist()[0]
        reason = found.reason[row].as_py()
        if outer.questions:
            assert reason in {"unknown_schema", "undecodable", "not_framed"}
            continue
        if outer.reason[0].as_py() is not None:
            assert (reason, found.detail[row]) == (outer.reason[0].as_py(), outer.detail[0])
            assert set(got.values()) == {None}
            continue
        (whole,) = outer.columns.to_pylist()
        wrapped = whole.pop("body")
        if not wrapped or is_beside:
            assert reason in {"empty_value", "not_framed"}
            continue
        inner = made.inner.plan(made.inner.newest(), NOTHING, ()).decode(bronze(wrapped))
        if inner.questions:
            assert reason == "unknown_schema"
        elif inner.reason[0].as_py() is not None:
            assert reason == inner.reason[0].as_py()
            assert set(got.values()) == {None}
        else:
            assert reason is None
            assert got == {**whole, **inner.columns.to_pylist()[0]}


def test_questions_go_to_whom_they_are_of():
    outer, inner = of_protobuf(ENVELOPE), of_protobuf(CALL, first_id=11)
    made = wrapping(BOTH, outer, inner)
    foreign = framed(98, message_of(ENVELOPE, "envelope"))
    values = [foreign, envelope(framed(99, message_of(CALL, "call")))]
    found = made.plan(made.newest(), NOTHING, ()).decode(bronze(*values))
    assert set(found.questions) == {SchemaIdQuestion(98), WrappedQuestion(SchemaIdQuestion(99))}
    made.resolve(made.newest(), frozenset(found.questions))
    assert (outer.asked, inner.asked) == ([{98}], [{99}])


def test_bodies_wait_while_the_registry_is_away_and_envelopes_go_on():
    made = of(CALL, LONGER, told=1)
    longer = framed(12, message_of(LONGER, "call", caller="bob"))
    values = bronze(envelope(longer), envelope(body(caller="ann")))
    inner = of_protobuf(CALL, LONGER, first_id=11, told=1, is_away=True)
    made = wrapping(BOTH, of_protobuf(ENVELOPE), inner)
    known = made.newest()
    questions = frozenset(made.plan(known, NOTHING, ()).decode(values).questions)
    with pytest.raises(RegistryError):
        made.resolve(known, questions)
    waiting = made.plan(made.let_wait(known, questions), NOTHING, ())
    assert waiting.has_waiting
    found = waiting.decode(values)
    told = "in body: the registry does not answer for schema id 12"
    assert found.reason.to_pylist() == ["waiting", None]
    assert found.detail.to_pylist() == [told, None]
    assert not made.plan(
        made.for_next_batch(made.let_wait(known, questions), 0.0), NOTHING, ()
    ).has_waiting


def test_nothing_changes_where_nothing_is_known_anew():
    made = of()
    known = made.newest()
    assert made.for_next_batch(known, 0.0) is known


def test_a_field_of_the_body_is_renamed_and_gets_wider():
    made = of(CALL, RENAMED)
    plan = made.plan(made.newest(), NOTHING, ())
    assert plan.renames == Renames(now={"caller": "from"})
    assert plan.columns.field("seconds").type == pa.int64()
    have = pa.schema(
        [
            ("tenant", pa.string()),
            ("seconds", pa.int32()),
            ("gone", pa.date32()),
            ("caller", pa.string()),
        ]
    )
    again = made.plan(made.newest(), have, ())
    # What tables have comes first, and stays.
    assert again.columns.names == ["tenant", "seconds", "gone", "caller", "body_id", "from"]
    assert again.columns.field("seconds").type == pa.int64()
    (row,) = rows_of(made, envelope(body(caller="ann", seconds=1)), have=have)
    assert (row["from"], row["caller"], row["gone"], row["seconds"]) == ("ann", None, None, 1)


def test_a_prefix_tells_the_bodys_columns_apart():
    twin = "message call { string tenant = 1; int32 body_id = 2; string id = 3; }"
    declared = {**BOTH, "wrapped": {**BOTH["wrapped"], "prefix": "in_"}}
    made = of(twin, declared=declared)
    value = envelope(framed(11, message_of(twin, "call", tenant="b", id="x")), tenant="a")
    want = {"tenant": "a", "body_id": 0, "in_tenant": "b", "in_body_id": 0, "in_id": "x"}
    assert rows_of(made, value) == [want]
    plan = made.plan(made.newest(), NOTHING, ("in_id",))
    assert plan.columns.names == list(want)
    assert plan.message_columns == {"call": frozenset(want)}
    with pytest.raises(FeedError, match="routed by id"):
        made.plan(made.newest(), NOTHING, ("id",))


@pytest.mark.parametrize("kind", ["string", "int32"])
@pytest.mark.parametrize("name", ["tenant", "TENANT"])
def test_a_name_of_both_is_refused_with_what_to_do(kind, name):
    made = of(f"message call {{ {kind} {name} = 1; }}")
    with pytest.raises(FeedError, match=r"in body both have a column (?i:tenant).*`prefix: body_`"):
        made.plan(made.newest(), NOTHING, ())


def test_a_later_version_with_a_name_of_the_envelopes_is_refused_and_others_go_on():
    worse = "message call { string caller = 1; int32 seconds = 2; string tenant = 3; }"
    made = of(CALL, worse, told=1)
    value = framed(12, message_of(worse, "call", caller="bob", tenant="x"))
    found = rows_of(made, envelope(value), envelope(body(caller="ann")))
    detail = (
        "in body: field tenant is string in version 2, and the envelope has a column of that name"
    )
    assert found[0] == ("incompatible_schema", detail)
    assert found[1]["caller"] == "ann"
    # A restart, which knows the version from the start, says the same.
    assert rows_of(of(CALL, worse), envelope(value))[0] == found[0]


def test_of_avro_too_and_what_an_old_version_of_the_envelope_had_counts():
    old = record(("gone", ["null", "string"]), ("body", "bytes"))
    new = record(("body", "bytes"), ("tenant", "string"))
    declared: dict[str, Any] = {
        "avro": {"subject": "envelope"},
        "wrapped": {"column": "body", "avro": {"subject": "body"}},
    }
    first, worse = record(("n", "int")), record(("n", "int"), ("gone", "int"))
    made = wrapping(declared, of_avro(old, new), of_avro(first, worse, first_id=11))
    values = [
        avro.framed(11, datum(first, {"n": 1})),
        avro.framed(12, datum(worse, {"n": 1, "gone": 2})),
    ]
    rows = [avro.framed(2, datum(new, {"body": one, "tenant": "a"})) for one in values]
    found = rows_of(made, *rows)
    assert found[0] == {"tenant": "a", "n": 1}
    assert found[1][0] == "incompatible_schema"
    assert found[1][1].endswith("and the envelope has a column of that name")


def test_a_route_is_the_envelopes_or_the_bodys():
    made = of(TYPES)
    text = framed(11, message_of(TYPES, "text", words="hi"), b"\2\2")
    call = framed(11, message_of(TYPES, "call", caller="ann"))
    values = [envelope(call, tenant="a"), envelope(text)]
    (first, second) = rows_of(made, *values, route=("caller",))
    assert (first["tenant"], first["caller"]) == ("a", "ann")
    told = "in body: message text of version 1 has no field caller, which says where a row goes"
    assert second == ("foreign_message", told)
    assert [one["tenant"] for one in rows_of(made, *values, route=("tenant",))] == ["a", ""]


def test_message_types_are_the_bodys():
    found = decode_all(of(TYPES), envelope(framed(11, message_of(TYPES, "text"), b"\2\2")), None)
    assert found.message is not None
    assert [found.messages[i] for i in found.message.drop_null().to_pylist()] == ["text"]
    assert found.message[1].as_py() is None
    made = of(TYPES)
    known = made.newest()
    met = frozenset({WrappedQuestion(MessageQuestion(11, (n,))) for n in (0, 1)})
    plan = made.plan(made.resolve(known, met), NOTHING, ())
    own = {"tenant", "body_id"}
    assert plan.message_columns == {"call": {*own, "caller"}, "text": {*own, "words"}}


@pytest.mark.parametrize(
    ("wrapped", "fact"),
    [
        ({"column": "nothing"}, "nothing, which is no column.*It has tenant, body, body_id"),
        ({"column": "tenant"}, "tenant, which is string"),
        ({"column": "body", "schema_id": "tenant"}, "tenant, which is string.*integers"),
        ({"column": "body", "schema_id": "x"}, "x, which is no column"),
    ],
)
def test_what_the_envelope_has_not_is_told_at_start(wrapped, fact):
    made = of(declared={**BOTH, "wrapped": {"protobuf": {"subject": "body"}, **wrapped}})
    with pytest.raises(FeedError, match=fact):
        made.plan(made.newest(), NOTHING, ())


def test_versions_and_reasons_of_both_are_told():
    made = of(CALL, LONGER)
    known = made.newest()
    told = [(one.subject, one.version, one.schema_id) for one in versions_in(known)]
    assert told == [("envelope", 1, 1), ("body", 1, 11), ("body", 2, 12)]
    payload = Payload.model_validate(BOTH)
    for one in (made, with_tombstones("calls", ("caller",), made)):
        why = reasons_of_feed(payload, one, known, ())
        assert why("tenant", "string") == Reason(Why.REGISTRY, 1, 1, "envelope")
        assert why("caller", "string") == Reason(Why.REGISTRY, 1, 11, "body")
        assert why("seconds", "bigint") == Reason(Why.REGISTRY, 2, 12, "body")
        assert why("older", "string") == Reason(Why.FOUND)


def test_recorded_versions_are_for_the_format_of_their_subject():
    declared: dict[str, Any] = {
        "avro": {"subject": "envelope"},
        "wrapped": {"column": "body", "avro": {"subject": "body"}},
    }
    made = wrapping(declared, of_avro(AVRO_ENVELOPE), of_avro(AVRO_BODY, first_id=12))
    gone = avro.versions(record(("old", "int")), first_id=11)[11].descriptor_set
    recorded = RegisteredVersion(version=7, schema_id=11, schema=gone, subject="body")
    other = RegisteredVersion(version=8, schema_id=13, schema=gone, subject="before")
    question = KnownVersionsQuestion((recorded, other))
    found = made.resolve(made.newest(), frozenset({question}))
    assert (set(found.outer.versions), set(found.inner.versions)) == ({1}, {11, 12})


def test_recorded_versions_of_a_subject_that_is_gone_are_for_the_format_that_takes_it():
    declared = {
        "avro": {"subjects": "e.*"},
        "wrapped": {"column": "body", "avro": {"subjects": "b.*"}},
    }
    payload = Payload.model_validate(declared)
    outer = several.known("avro", pattern="e.*", e1={1: AVRO_ENVELOPE})
    inner = several.known("avro", pattern="b.*", b1={2: AVRO_BODY}, b2={3: record(("b", "int"))})
    of_inner = several.format_of("avro", inner.choice)
    made = WrappedFormat(
        "calls", payload.wrapped, several.format_of("avro", outer.choice), lambda _: of_inner
    )
    schemas = WrappedSchemas(outer, inner.with_sets([inner.sets["b1"]]))
    question = KnownVersionsQuestion(versions_in(WrappedSchemas(outer, inner)))
    found = made.resolve(schemas, frozenset({question}))
    assert {one.subject for one in found.outer.recorded} == {"e1"}
    assert {one.subject for one in found.inner.recorded} == {"b1", "b2"}


def test_integers_are_kept_where_they_are():
    declared = {**BOTH, "wrapped": {**BOTH["wrapped"], "prefix": "in_"}}
    made = of(declared=declared)
    asked = KeptTypesQuestion(("tenant", "in_seconds"))
    found = made.resolve(made.newest(), frozenset({asked}))
    assert (found.outer.unrounded, found.inner.unrounded) == ({"tenant"}, {"seconds"})


def test_what_each_kind_of_row_makes_is_told():
    made = of(CALL)
    known = made.resolve(made.newest(), frozenset({WrappedQuestion(MessageQuestion(11, FIRST))}))
    names = [set(one.names) for one in made.made_by(known, ())]
    assert {"tenant", "body_id"} in names
    assert {"caller", "seconds"} in names
    assert not any("body" in one for one in names)


def test_the_format_of_bodies_is_made_once_for_all_that_is_asked():
    made = of(CALL)
    schemas = made.newest()
    taken = []

    def make_inner(names):
        taken.append(names)
        return made.make_inner(names)

    counted = replace(made, make_inner=make_inner)
    asked = frozenset({WrappedQuestion(MessageQuestion(11, FIRST))})
    for _ in range(3):
        counted.newest()
        schemas = counted.for_next_batch(counted.resolve(schemas, asked), 1.0)
        counted.plan(schemas, pa.schema([]), ())
    assert taken == [()]
