"""Versions that the registry forgot and the lake did not."""

from dataclasses import replace

import pyarrow as pa

from lake_assets.formats.column_reasons import versions_in
from lake_assets.formats.subjects.recorded import forgotten, recorded_of
from lake_assets_tests.formats.avro.given import record
from lake_assets_tests.formats.subjects.given import Reader, known

OLD = "message Uno { int32 color = 1; }"
NEW = "message Uno { int64 color = 1; }"
TEXT = "message Chess { string color = 1; }"


def of(language="protobuf", **subjects):
    return known(language, **subjects)


def with_recorded(now, before):
    return replace(now, recorded=versions_in(before))


def ids_of(found):
    return {name: [sorted(one.versions) for one in some] for name, some in found.items()}


def test_versions_that_are_known_no_more_are_each_by_itself():
    before = of(chess={1: TEXT}, uno={2: OLD, 3: NEW})
    now = replace(before, sets={**before.sets, "uno": before.sets["uno"].alone(3)})
    schemas = with_recorded(now, before)
    assert ids_of(forgotten(schemas)) == {"chess": [], "uno": [[2]]}
    assert ids_of(forgotten(now)) == {}
    unusable = [replace(one, note="is not valid") for one in versions_in(before)]
    assert ids_of(forgotten(replace(now, recorded=tuple(unusable)))) == {"chess": [], "uno": []}


def test_of_a_registry_that_was_set_up_anew_older_ones_say_nothing():
    before = of(uno={1: OLD, 2: NEW, 3: TEXT})
    for now in (of(uno={3: OLD}), of(uno={1: NEW})):
        assert ids_of(forgotten(with_recorded(now, before))) == {"uno": []}


def test_those_of_releases_that_noted_no_subject_are_whose_one_is():
    before = of(uno={1: OLD, 2: NEW})
    unnamed = tuple(replace(one, subject="") for one in versions_in(before))
    now = replace(of(uno={2: NEW}, chess={4: TEXT}), recorded=unnamed)
    assert {name: len(some) for name, some in recorded_of(now).items()} == {"uno": 2, "chess": 0}


def test_a_column_keeps_the_name_that_a_forgotten_version_gave_it():
    before = of(chess={1: TEXT}, uno={2: OLD, 3: NEW})
    have = Reader("protobuf", before).have
    assert have == pa.schema([("color", pa.string()), ("color_int", pa.int64())])
    now = replace(before, sets={**before.sets, "uno": before.sets["uno"].alone(3)})
    assert Reader("protobuf", with_recorded(now, before), have=have).have is have
    # Without the lake's record it would be another one.
    assert Reader("protobuf", now, have=have).have.names == ["color", "color_int", "color_bigint"]


def test_versions_of_another_language_say_nothing():
    """A feed may have read another format before."""
    avro = known("avro", uno={7: record(("color", "string"))}, chess={8: record(("x", "int"))})
    others = tuple(replace(one, version=9) for one in versions_in(avro))
    schemas = of(chess={1: TEXT}, uno={2: OLD})
    got = Reader("protobuf", replace(schemas, recorded=others)).have
    assert got.names == ["color", "color_int"]
    back = replace(avro, recorded=tuple(replace(one, version=9) for one in versions_in(schemas)))
    assert Reader("avro", back).have.names == ["color", "x"]
