"""Which subject has which schema id, and which subjects lead."""

from dataclasses import replace

from lake_assets.formats.column_reasons import versions_in
from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets.model.subjects import Subjects
from lake_assets_tests.formats.subjects.given import known, without

UNO = "package acme; message Uno { string player = 1; int32 color = 2; }"
CHESS = "package acme; message Chess { string player = 1; int64 elo = 2; }"


def test_a_registry_that_was_set_up_anew_takes_ids_from_those_who_had_them():
    schemas = known("protobuf", ".*", uno={1: UNO}, chess={2: CHESS})
    anew = known("protobuf", ".*", chess={1: CHESS}).sets["chess"]
    assert schemas.with_latest([anew]).owners == {1: "chess", 2: "chess"}
    assert "uno" not in schemas.with_latest([anew]).sets
    same = SchemaSet(subject="other", versions={1: replace(schemas.sets["uno"].versions[1])})
    assert schemas.with_latest([same]).owners[1] == "uno"  # equal ids: who was known


def test_ids_that_were_foreign_are_not_once_they_are_known():
    schemas = without(SubjectSchemas(choice=Subjects(pattern=".*")), foreign_ids=frozenset({1, 2}))
    version = Version(number=1, descriptor_set=b"x")
    later = schemas.with_latest([SchemaSet(subject="uno", versions={1: version})])
    assert later.others.foreign_ids == {2}
    assert later.unanswered({1, 2, 3}) == {3}


def test_a_later_subject_with_the_same_text_takes_no_rows_from_the_one_that_was_known():
    record = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]}
    both = known("avro", pattern=".*", b={1: record}, a={1: record})
    before = both.with_sets([]).with_sets([both.sets["b"]])
    assert before.with_latest([both.sets["a"]]).owners == {1: "b"}
    # And after a restart, where both are met at once and the tables' history is told.
    assert both.owners == {1: "a"}
    recorded = versions_in(before)
    anew = replace(both, sets={}, recorded=recorded).with_sets(both.sets.values())
    assert anew.owners == {1: "b"}
