"""Columns and rows of several subjects, without a registry."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from lake_assets.errors import RegistryError, SchemaUnusableError, UnknownColumnsError
from lake_assets.formats.column_reasons import reasons_of, versions_in
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.questions import (
    KeptTypesQuestion,
    KnownVersionsQuestion,
    SchemaIdQuestion,
    UnknownNamesQuestion,
)
from lake_assets.formats.subjects.payload_format import over_subjects
from lake_assets.formats.subjects.registry import SubjectsRegistry
from lake_assets.model.payload import Payload
from lake_assets.model.schema_history import RegisteredVersion, Why
from lake_assets.model.subjects import Subjects
from lake_assets_tests.formats.avro.given import datum, record
from lake_assets_tests.formats.avro.given import framed as avro_framed
from lake_assets_tests.formats.contract import check_decoder
from lake_assets_tests.formats.framed_rows import bronze
from lake_assets_tests.formats.json_schema.given import document
from lake_assets_tests.formats.json_schema.given import framed as json_framed
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.formats.subjects.given import Reader, format_of, known, without

UNO = "package acme; message Uno { string player = 1; int32 color = 2; }"
CHESS = "package acme; message Chess { string player = 1; int64 elo = 2; }"

TEXT = "package acme; message Chess { string player = 1; string color = 2; }"
"""A field that is a number in `UNO`."""

TWO = {"uno": {1: UNO}, "chess": {2: CHESS}}


def uno(schema_id=1, **values):
    return framed(schema_id, message_of(UNO, "acme.Uno", **values))


def chess(schema_id=2, body=CHESS, **values):
    return framed(schema_id, message_of(body, "acme.Chess", **values))


def test_rows_of_each_subject_have_its_own_columns():
    reader = Reader("protobuf", known("protobuf", **TWO))
    values = uno(player="a", color=1), chess(player="b", elo=2), uno(player="c", color=3)
    assert reader.rows(*values) == [
        {"player": "a", "color": 1},
        {"player": "b", "elo": 2},
        {"player": "c", "color": 3},
    ]
    assert reader.have.names == ["player", "color", "elo"]
    assert reader.messages(*values) == ["acme.Uno", "acme.Chess", "acme.Uno"]
    assert reader.rows(values[0]) == [{"player": "a", "color": 1}]  # of one subject alone
    assert reader.decoder.message_columns == {
        "acme.Uno": {"player", "color"},
        "acme.Chess": {"player", "elo"},
    }


def test_it_keeps_the_contract_and_says_of_other_rows_what_is_known():
    schemas = without(
        known("protobuf", **TWO),
        unknown_ids=frozenset({7}),
        foreign_ids=frozenset({8}),
        waiting_ids=frozenset({9}),
    )
    reader = Reader("protobuf", schemas)
    values = [uno(7), uno(8), uno(9), uno(10), None, b"", b"x", uno()[:-1] + b"\xff", chess(elo=1)]
    check_decoder(reader.decoder, bronze(*values))
    assert reader.decoder.has_waiting
    unknown, foreign, waits, asked, *empty, bad, one = reader.rows(*values)
    assert unknown == {"unknown_schema": "schema id 7"}
    assert foreign == {"foreign_schema": "schema id 8 is not of subject uno, chess"}
    assert waits == {"waiting": "the registry does not answer for schema id 9"}
    assert asked == SchemaIdQuestion(10)
    assert [next(iter(each)) for each in empty] == ["empty_value", "empty_value", "not_framed"]
    assert "undecodable" in bad
    assert one == {"player": "", "elo": 1}
    flooded = replace(schemas, others=replace(schemas.others, is_flooded=True))
    assert Reader("protobuf", flooded).rows(uno(10)) == [{"unknown_schema": "schema id 10"}]


def test_what_does_not_go_together_has_a_column_of_its_own_whichever_row_comes_first():
    for first in (uno(color=1), chess(2, TEXT, color="x")):
        reader = Reader("protobuf", known("protobuf", uno={1: UNO}, chess={2: TEXT}))
        reader.rows(first)
        assert reader.rows(uno(color=1), chess(2, TEXT, color="x")) == [
            {"player": "", "color": 1},
            {"player": "", "color_string": "x"},
        ]
        assert reader.decoder.message_columns["acme.Chess"] == {"player", "color_string"}
    # The one named first leads; what tables have counts more.
    other = Reader("protobuf", known("protobuf", chess={2: TEXT}, uno={1: UNO}))
    assert other.have.field("color").type == pa.string()
    assert other.have.field("color_int").type == pa.int32()
    again = Reader("protobuf", other.schemas, have=pa.schema([("color", pa.int32())]))
    assert again.rows(chess(2, TEXT, color="x")) == [{"player": "", "color_string": "x"}]


def test_a_column_that_says_where_rows_go_stays_one():
    schemas = known("protobuf", uno={1: UNO}, chess={2: TEXT})
    said = "subject chess: field color is string in version 1, and the column is int"
    reader = Reader("protobuf", schemas, route=("color",))
    assert reader.rows(chess(2, TEXT, color="x"), uno(color=2)) == [
        {"incompatible_schema": said},
        {"player": "", "color": 2},
    ]


def test_where_names_stay_what_does_not_go_together_is_refused():
    schemas = known("protobuf", uno={1: UNO}, chess={2: TEXT})
    plain = replace(format_of("protobuf", schemas.choice), renames_clashing=False)
    decoder = plain.plan(schemas, pa.schema([]), ())
    assert decoder.columns.names == ["player", "color"]
    found = decoder.decode(bronze(chess(2, TEXT, color="x")))
    assert found.reason.to_pylist() == ["incompatible_schema"]
    assert [one.names for one in plain.made_by(schemas, ())] == [["player", "color"]] * 2


def test_why_a_renamed_column_is_there_names_the_subject():
    schemas = known("protobuf", uno={1: UNO}, chess={2: TEXT})
    own = format_of("protobuf", schemas.choice)
    payload = Payload.model_validate({"protobuf": {"subjects": ["uno", "chess"]}})
    why = reasons_of(payload, own, schemas, ())("color_string", "string")
    assert (why.subject, why.version, why.schema_id) == ("chess", 1, 2)
    assert why.field == "color"
    assert [one.names for one in own.made_by(schemas, ())] == [
        ["player", "color"],
        ["player", "color_string"],
    ]


def test_of_a_pattern_the_subject_leads_that_was_registered_first():
    schemas = known("protobuf", ".*", chess={2: TEXT}, uno={1: UNO})
    assert list(schemas.sets) == ["uno", "chess"]
    assert Reader("protobuf", schemas).have.field("color").type == pa.int32()
    later = schemas.with_latest(known("protobuf", ".*", aa={3: CHESS}).sets.values())
    assert list(later.sets) == ["uno", "chess", "aa"]


def test_types_get_wide_enough_for_all_subjects():
    wide = UNO.replace("int32 color", "int64 color")
    reader = Reader("protobuf", known("protobuf", uno={1: UNO}, other={2: wide}))
    assert reader.have.field("color").type == pa.int64()
    assert reader.rows(uno(color=1)) == [{"player": "", "color": 1}]


@pytest.mark.parametrize("language", ["protobuf", "avro", "json"])
def test_each_of_many_subjects_has_its_own_columns_alone(language):
    """Else decoding, and what is pickled for each task, grow with the square of the subjects."""
    types = {
        "protobuf": [f"message R{at} {{ int64 id = 1; string f{at} = 2; }}" for at in range(9)],
        "avro": [record(("id", "long"), (f"f{at}", "string")) for at in range(9)],
        "json": [document(id={"type": "integer"}, **{f"f{at}": {}}) for at in range(9)],
    }
    subjects = {f"s{at}": {at + 1: one} for at, one in enumerate(types[language])}
    reader = Reader(language, known(language, **subjects))
    own = [{*one.decoder.columns.names} - {"_rescued"} for one in reader.decoder.subjects]
    assert own == [{"id", f"f{at}"} for at in range(9)]
    assert {*reader.have.names} - {"_rescued"} == {"id", *(f"f{at}" for at in range(9))}
    reader.plan()  # the same with the tables' columns
    assert [{*one.decoder.columns.names} - {"_rescued"} for one in reader.decoder.subjects] == own


def test_an_id_of_two_subjects_is_read_once_by_the_leading_one():
    schemas = known("protobuf", uno={1: UNO}, other={1: UNO, 2: CHESS})
    assert schemas.owners == {1: "uno", 2: "other"}
    assert Reader("protobuf", schemas).rows(uno(color=1)) == [{"player": "", "color": 1}]


def test_a_subject_without_columns_has_its_rows_refused_and_holds_up_nobody():
    empty = "package acme; message Nothing {}"
    schemas = known("protobuf", empty={3: empty}, uno={1: UNO})
    reader = Reader("protobuf", schemas)
    value = framed(3, message_of(empty, "acme.Nothing"))
    (refused, row) = reader.rows(value, uno(color=1))
    assert row == {"player": "", "color": 1}
    assert "subject empty" in refused["incompatible_schema"]
    with pytest.raises(SchemaUnusableError, match="'empty'"):
        Reader("protobuf", known("protobuf", empty={3: empty}))
    with pytest.raises(RegistryError, match="no schema"):
        Reader("protobuf", known("protobuf"))


def test_rows_of_a_subject_without_the_routes_column_are_refused():
    reader = Reader("protobuf", known("protobuf", **TWO), route=("color",))
    refused = "subject chess: message acme.Chess of version 1 has no field color, "
    refused += "which says where a row goes"
    assert reader.rows(chess(elo=1), uno(color=2)) == [
        {"foreign_message": refused},
        {"player": "", "color": 2},
    ]


def test_a_subject_of_several_messages_asks_for_those_that_rows_have():
    both = f"{UNO} message Chess {{ string player = 1; int64 elo = 2; }}"
    go = "package acme; message Go { string stone = 1; }"
    reader = Reader("protobuf", known("protobuf", both={1: both}, go={2: go}))
    assert reader.have.names == ["stone"]
    assert reader.decoder.unused.names == ["player", "color", "elo"]
    chess_row = framed(1, message_of(both, "acme.Chess", elo=5), b"\2\2")
    assert reader.rows(chess_row) == [{"player": "", "elo": 5}]
    assert reader.have.names == ["stone", "player", "elo"]


AVRO_UNO = record(("player", "string"), ("color", "int"), name="acme.Uno")
AVRO_CHESS = record(("player", "string"), ("color", "double"), name="acme.Chess")
AVRO_BAD = record(("player", "string"), ("color", "boolean"), name="acme.Chess")


def avro(schema_id, schema, **values):
    return avro_framed(schema_id, datum(schema, values))


def test_avro_promotes_over_subjects_and_names_who_is_refused():
    schemas = known("avro", uno={1: AVRO_UNO}, chess={2: AVRO_CHESS, 3: AVRO_BAD})
    reader = Reader("avro", schemas)
    rows = reader.rows(
        avro(1, AVRO_UNO, player="a", color=1),
        avro(2, AVRO_CHESS, player="b", color=0.5),
        avro(3, AVRO_BAD, player="c", color=True),
    )
    assert rows[:2] == [{"player": "a", "color": 1.0}, {"player": "b", "color": 0.5}]
    assert "subject chess: field color is boolean in version 2" in rows[2]["incompatible_schema"]
    value = avro(1, AVRO_UNO, player="a", color=1)
    assert reader.messages(value) == ["acme.Uno"]


def test_integers_that_must_stay_are_those_of_every_subject():
    schemas = known("avro", uno={1: AVRO_UNO}, chess={2: AVRO_CHESS})
    own = format_of("avro", schemas.choice)
    kept = own.resolve(schemas, frozenset({KeptTypesQuestion(("color",))}))
    decoder = own.plan(kept, pa.schema([("color", pa.int32())]), ())
    assert decoder.columns.field("color").type == pa.int32()
    late = kept.with_latest(known("avro", uno={5: AVRO_CHESS}).sets.values())
    assert late.of("a new one").unrounded == {"color"}


def test_integers_that_must_stay_do_so_in_a_column_of_another_name():
    texts = record(("player", "string"), ("color", "string"), name="acme.Uno")
    schemas = known("avro", uno={1: texts}, chess={2: AVRO_UNO, 3: AVRO_CHESS})
    own = format_of("avro", schemas.choice)
    first = own.plan(schemas, pa.schema([]), ())
    assert first.columns.field("color_int").type == pa.float64()
    have = pa.schema([("player", pa.string()), ("color", pa.string()), ("color_int", pa.int32())])
    kept = own.resolve(schemas, frozenset({KeptTypesQuestion(("color_int",))}))
    assert own.plan(kept, have, ()).columns is have


def test_a_field_that_was_renamed_is_so_in_its_column_of_another_name():
    older = record(("colour", "int"), name="acme.Chess")
    newer = {"name": "color", "type": "int", "aliases": ["colour"], "default": 0}
    newer = record(newer, name="acme.Chess")
    texts = record(("color", "string"), name="acme.Uno")
    schemas = known("avro", uno={1: texts}, chess={2: older, 3: newer})
    reader = Reader("avro", schemas)
    assert reader.rows(avro(2, older, colour=1), avro(3, newer, color=2)) == [
        {"color_int": 1},
        {"color_int": 2},
    ]
    assert reader.decoder.renames.now == {"colour": "color_int"}


def test_recorded_versions_are_their_own_subjects_alone():
    schemas = known("avro", uno={1: AVRO_UNO}, chess={5: AVRO_CHESS})
    old = record(("player", "string"), ("age", "int"), name="acme.Uno")
    before = known("avro", uno={1: AVRO_UNO, 2: old})
    recorded = versions_in(before)
    own = format_of("avro", schemas.choice)
    for unnamed in (recorded, [replace(one, subject="") for one in recorded]):
        question = KnownVersionsQuestion(tuple(unnamed))
        got = own.resolve(schemas, frozenset({question}))
        assert {name: set(one.versions) for name, one in got.sets.items()} == {
            "uno": {1, 2},
            "chess": {5},
        }
        assert got.sets["uno"].versions[2].is_deleted
    # What the id is now counts more.
    taken = known("avro", uno={1: AVRO_UNO}, chess={2: AVRO_CHESS})
    got = own.resolve(taken, frozenset({KnownVersionsQuestion(recorded)}))
    assert got.owners == {1: "uno", 2: "chess"}


JSON_UNO = {**document(player={"type": "string"}, color={"type": "integer"}), "title": "Uno"}
JSON_CHESS = document(player={"type": "string"}, elo={"type": "integer"})


def test_recorded_versions_of_a_deleted_subject_count_once_the_registry_says_that_a_row_is_of_it():
    """Else what its fields become would hang on which of its versions a row has after a restart."""
    kinds = ["int", ["int", "string"]]
    older, newest = (record(("x", kind)) for kind in kinds)
    whole = known("avro", a={1: record(("id", "int"))}, gone={2: older, 3: newest})
    now = whole.with_sets([whole.sets["a"]])
    newer = {3: replace(whole.sets["gone"].versions[3], is_deleted=True)}

    class Deleted(SubjectsRegistry):
        def resolve(self, schemas, ids):  # noqa: ARG002
            return schemas.with_latest([SchemaSet(subject="gone", versions=newer)])

    made = format_of("avro", whole.choice)
    made = replace(made, registry=Deleted(whole.choice, made.registry.registry))
    after = made.resolve(now, frozenset({KnownVersionsQuestion(versions_in(whole))}))
    assert after.sets == now.sets  # another subject may have the ids
    after = made.resolve(after, frozenset({SchemaIdQuestion(3)}))
    assert set(after.owners) == {1, 2, 3}
    columns = made.plan(after, pa.schema([]), ()).columns
    assert columns.field("x").type == pa.int32()
    assert "x_other_types" in columns.names


def test_json_is_read_into_the_columns_of_its_own_subject_alone():
    schemas = known("json", uno={1: JSON_UNO}, chess={2: JSON_CHESS})
    reader = Reader("json", schemas)
    values = json_framed(1, {"player": "a", "elo": 3}), json_framed(2, {"color": 1, "elo": 4})
    assert reader.have.names == ["player", "color", "_rescued", "elo"]
    assert reader.rows(*values) == [
        {"player": "a", "_rescued": json.dumps({"elo": 3}, separators=(",", ":"))},
        {"elo": 4, "_rescued": json.dumps({"color": 1}, separators=(",", ":"))},
    ]
    assert reader.messages(*values) == ["Uno", "chess"]  # which has no title
    assert reader.decoder.message_columns == {
        "Uno": {"player", "color", "_rescued"},
        "chess": {"player", "elo", "_rescued"},
    }
    check_decoder(reader.decoder, bronze(*values, None, b"x", json_framed(9, {})))


@pytest.mark.parametrize("language", ["avro", "json"])
def test_names_that_differ_by_case_alone_are_one_column(language):
    if language == "json":
        one, other = (document(**{name: {"type": "string"}}) for name in ("player", "Player"))
        row = json_framed(2, {"Player": "x"})
    else:
        one, other = (record((name, "string")) for name in ("player", "Player"))
        row = avro_framed(2, datum(other, {"Player": "x"}))
    reader = Reader(language, known(language, uno={1: one}, other={2: other}))
    assert reader.rows(row) == [{"player": "x"}]


def test_json_of_another_type_has_a_column_of_its_own():
    other = document(color={"type": "string"}, player={"type": "string", "format": "date"})
    reader = Reader("json", known("json", uno={1: JSON_UNO}, other={2: other}))
    value = json_framed(2, {"color": "red", "player": "2024-01-01"})
    assert reader.rows(value) == [{"color_string": "red", "player": "2024-01-01"}]
    assert reader.rows(json_framed(1, {"color_string": "x"})) == [
        {"_rescued": json.dumps({"color_string": "x"}, separators=(",", ":"))}
    ]


def test_names_at_which_the_feed_stops_stop_it():
    schemas = known("json", uno={1: JSON_UNO}, chess={2: JSON_CHESS})
    own = format_of("json", schemas.choice, on_unknown="fail")
    found = own.plan(schemas, pa.schema([]), ()).decode(
        bronze(json_framed(1, {"x": 1}), json_framed(2, {"x": 1}))
    )
    assert found.questions == (UnknownNamesQuestion(("x",)),)
    assert found.question.to_pylist() == [0, 0]
    for answer in (own.resolve, own.let_wait):
        with pytest.raises(UnknownColumnsError, match="x"):
            answer(schemas, frozenset(found.questions))


def test_waiting_ids_are_asked_about_again_with_the_next_batch():
    schemas = known("protobuf", **TWO)
    own = format_of("protobuf", schemas.choice)
    questions = frozenset({SchemaIdQuestion(9), SchemaIdQuestion(1)})
    waits = own.let_wait(schemas, questions)
    assert waits.others.waiting_ids == {9}
    assert own.for_next_batch(waits, 0.0).others.waiting_ids == frozenset()
    assert own.for_next_batch(schemas, 0.0) is schemas


def test_why_a_column_is_there_names_the_subject():
    schemas = known("protobuf", **TWO)
    own = format_of("protobuf", schemas.choice)
    payload = Payload.model_validate({"protobuf": {"subjects": ["uno", "chess"]}})
    why = reasons_of(payload, own, schemas, ())
    assert (why("elo", "bigint").subject, why("elo", "bigint").schema_id) == ("chess", 2)
    assert why("player", "string").subject == "uno"
    assert why("gone", "string").why is Why.FOUND
    assert [one.subject for one in versions_in(schemas)] == ["uno", "chess"]
    made = own.made_by(schemas, ())
    assert [one.names for one in made] == [["player", "color"], ["player", "elo"]]


def test_a_format_without_a_registry_has_no_subjects():
    with pytest.raises(TypeError, match="has no subjects"):
        over_subjects(object(), Subjects(names=("a",)))


def test_an_older_release_s_record_without_a_subject_is_nobody_s_that_lacks_it():
    schemas = known("avro", chess={5: AVRO_CHESS})
    unnamed = RegisteredVersion(version=7, schema_id=1, schema=b"{}")
    own = format_of("avro", schemas.choice)
    got = own.resolve(schemas, frozenset({KnownVersionsQuestion((unnamed,))}))
    assert got.owners == {5: "chess"}
