"""Random subjects whose fields of one name have several types, and where their values are."""

import json
import re
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.formats.column_reasons import versions_in
from lake_assets.formats.subjects.schemas import SubjectSchemas
from lake_assets_tests.formats.avro.given import datum, framed, record
from lake_assets_tests.formats.json_schema.given import document
from lake_assets_tests.formats.json_schema.given import framed as json_framed
from lake_assets_tests.formats.subjects.given import Reader, known

KINDS: dict[str, Any] = {
    "int": "int",
    "long": "long",
    "string": "string",
    "list": {"type": "array", "items": "int"},
    "texts": {"type": "array", "items": "string"},
    "day": {"type": "int", "logicalType": "date"},
    "struct": {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]},
    "other": {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]},
}
WIDER = {"int": "long"}
JSON: dict[str, Any] = {
    "int": {"type": "integer"},
    "long": {"type": "integer"},
    "string": {"type": "string"},
    "list": {"type": "array", "items": {"type": "integer"}},
    "texts": {"type": "array", "items": {"type": "string"}},
    "day": {"type": "string", "format": "date"},
    "struct": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "other": {"type": "object", "properties": {"a": {"type": "string"}}},
}
TYPE = r"(_(int|bigint|string|array|date|struct))+"


def value_of(kind: str, n: int) -> tuple[Any, Any]:
    """A value that no other field has, as it is written and as it is read."""
    if kind in {"string", "other"}:
        text = f"v{n}"
        return ({"a": text},) * 2 if kind == "other" else (text, text)
    if kind == "day":
        day = date(2020, 1, 1) + timedelta(days=n)
        return day, day
    made: Any = {"list": [n], "texts": [f"v{n}"], "struct": {"a": n}}.get(kind, n)
    return made, made


@dataclass
class Drawn:
    """A subject: the fields of each of its versions by kind, and rows of each."""

    name: str
    versions: list[dict[str, str]]
    language: str
    ids: list[int] = field(default_factory=list)

    def schema(self, version: int) -> Any:
        if self.language == "json":
            kinds = {name: JSON[kind] for name, kind in self.versions[version].items()}
            return {**document(**kinds), "title": f"R_{self.name}"}
        fields = ((name, KINDS[kind]) for name, kind in self.versions[version].items())
        made = record(*fields, name=f"R_{self.name}")
        for at, one in enumerate(made["fields"]):
            if isinstance(one["type"], dict) and one["type"]["type"] == "record":
                one["type"] = {**one["type"], "name": f"r{at}_{one['name']}"}
        return made

    def row(self, version: int, start: int) -> tuple[bytes, dict[str, Any]]:
        values = {
            name: value_of(kind, start + at)
            for at, (name, kind) in enumerate(sorted(self.versions[version].items()))
        }
        written = {name: value for name, (value, _) in values.items()}
        read = {name: value for name, (_, value) in values.items()}
        if self.language == "json":
            return json_framed(
                self.ids[version], json.loads(json.dumps(written, default=str))
            ), read
        return framed(self.ids[version], datum(self.schema(version), written)), read


@st.composite
def subjects(draw: st.DrawFn) -> list[Drawn]:
    names = st.sampled_from(["id", "id", "at", "id_int", "id_bigint", "ID"])
    kinds = st.sampled_from(["int", "int", "string", *KINDS])
    language = draw(st.sampled_from(["avro", "avro", "json"]))
    found = []
    for at in range(draw(st.integers(2, 4))):
        first = draw(st.dictionaries(names, kinds, min_size=1, max_size=3))
        if {"id", "ID"} <= first.keys():
            del first["ID"]
        versions = [first]
        if draw(st.sampled_from([True, True, False])):
            later = {name: WIDER.get(kind, kind) for name, kind in first.items()}
            more = draw(names)
            if more.lower() not in {name.lower() for name in later}:
                later[more] = draw(kinds)
            versions.append(later)
        found.append(Drawn(f"s{at}", versions, language))
    ids = iter(range(1, 99))
    for one in found:
        one.ids = [next(ids) for _ in one.versions]
    return found


def schemas_of(some: list[Drawn], newest: int = 9, order: list[str] | None = None) -> Any:
    """What the registry has; of each subject so many versions."""
    texts = {
        one.name: {one.ids[at]: one.schema(at) for at in range(min(newest, len(one.versions)))}
        for one in sorted(some, key=lambda it: (order or []).index(it.name) if order else 0)
    }
    return known(some[0].language, **texts)


def read_back(reader: Reader, some: list[Drawn], newest: int = 9) -> dict[tuple[str, str], str]:
    """By subject and field, the column that has its values; each row has all of them, once."""
    places: dict[tuple[str, str], str] = {}
    rows, wanted = [], []
    for one in some:
        for version in range(min(newest, len(one.versions))):
            row, read = one.row(version, len(rows) * 10 + 1)
            rows.append(row)
            wanted.append((one.name, read))
    for found, (subject, read) in zip(reader.rows(*rows), wanted, strict=True):
        assert len(found) == len(read), found
        for name, value in read.items():
            (column,) = [it for it, its in found.items() if its in (value, str(value))]
            is_named = column.lower() == name.lower()
            assert is_named or re.fullmatch(re.escape(name) + TYPE, column, re.IGNORECASE)
            assert places.setdefault((subject, name.lower()), column) == column
    return places


@settings(deadline=None, max_examples=40)
@given(subjects(), st.randoms(use_true_random=False))
def test_each_value_has_a_column_and_keeps_it_whatever_comes_later(some, random):
    first = some[: random.randint(1, len(some))]
    order = [one.name for one in some]
    random.shuffle(order)  # who comes later may lead
    reader = Reader(some[0].language, schemas_of(first, 1, order))
    places = read_back(reader, first, 1)
    for came, newest in ((first, 9), (some, 9)):
        have = reader.have
        reader = Reader(some[0].language, schemas_of(came, newest, order), have=have)
        assert reader.have.names[: len(have)] == have.names
        now = read_back(reader, came, newest)
        assert now.items() >= places.items()
        places = now
        # A restart finds the same, also where nothing but tables tells of who is gone.
        again = Reader(some[0].language, schemas_of(came, newest, order), have=reader.have)
        assert again.have == reader.have
        assert read_back(again, came, newest) == places
        left = Reader(some[0].language, schemas_of(came[-1:], newest, order), have=reader.have)
        assert read_back(left, came[-1:], newest).items() <= places.items()
        assert left.have == reader.have


@settings(deadline=None, max_examples=20)
@given(subjects())
def test_an_oldest_version_that_the_registry_forgot_names_columns_on(some):
    whole = schemas_of(some)
    reader = Reader(some[0].language, whole)
    places = read_back(reader, some)
    sets = [one.alone(max(one.versions)) for one in whole.sets.values()]
    fewer = SubjectSchemas(choice=whole.choice, recorded=versions_in(whole)).with_sets(sets)
    left = Reader(some[0].language, fewer, have=reader.have)
    assert left.have == reader.have
    for one in some:
        row, read = one.row(len(one.versions) - 1, 1)
        (found,) = left.rows(row)
        wanted = {places[one.name, name.lower()]: str(value) for name, value in read.items()}
        assert {name: str(value) for name, value in found.items()} == wanted


def test_a_wider_type_of_a_later_version_widens_the_column_and_its_name_stays():
    one, other = Drawn("s0", [{"id": "string"}], "avro", [1]), Drawn("s1", [{"id": "int"}], "avro")
    other.ids, some = [2, 3], [one, other]
    before = Reader("avro", schemas_of(some))
    other.versions.append({"id": "long"})
    for have in (before.have, pa.schema([])):
        reader = Reader("avro", schemas_of(some), have=have)
        assert reader.have == pa.schema([("id", pa.string()), ("id_int", pa.int64())])
        assert read_back(reader, some) == {("s0", "id"): "id", ("s1", "id"): "id_int"}


def test_a_leading_subject_s_columns_are_the_same_object_as_the_tables():
    schemas = known("avro", one={1: record(("id", "int"))}, other={2: record(("id", "string"))})
    have = Reader("avro", schemas).have
    again = Reader("avro", schemas, have=have)
    assert again.have is have
    assert again.have == pa.schema([("id", pa.int32()), ("id_string", pa.string())])


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_subject_whose_oldest_version_is_deleted_leads_on_where_no_table_is_asked(is_listed):
    older = record(("id", "string"), name="Order")
    newer = record(("id", "string"), ("at", "string"), name="Order")
    refund = record(("id", "int"), name="Refund")
    whole = known("avro", ".*", order={1: older, 3: newer}, refund={2: refund})
    versions = dict(whole.sets["order"].versions)
    if is_listed:
        versions[1] = replace(versions[1], is_deleted=True)
    else:
        del versions[1]
    left = replace(whole.sets["order"], versions=versions)
    fewer = SubjectSchemas(choice=whole.choice, recorded=versions_in(whole))
    fewer = fewer.with_sets([whole.sets["refund"], left])
    assert Reader("avro", fewer).have.names == ["id", "at", "id_int"]
    # Of an id that is another subject's by now nothing is told.
    anew = known("avro", ".*", order={3: newer}, refund={1: refund}).sets.values()
    assert [*fewer.with_sets(anew).sets] == ["refund", "order"]


def test_a_field_whose_versions_do_not_go_together_has_one_column_beside_another_s():
    """Each round of planning found that none fitted, and gave it one more, without end."""
    some = [Drawn("s0", [{"id": "struct"}], "avro"), Drawn("s1", [{"id": "string"}, {}], "avro")]
    some[0].ids, some[1].ids = [1], [2, 3]
    some[1].versions[1] = {"id": "list"}
    reader = Reader("avro", schemas_of(some))
    assert reader.have.names == ["id", "id_string"]
    assert reader.have.field("id_string").type == pa.list_(pa.int32())
    older, newer = (some[1].row(version, 5) for version in range(2))
    refused, row = reader.rows(older[0], newer[0])
    assert "incompatible_schema" in refused
    assert row == {"id_string": [5]}
    assert Reader("avro", schemas_of(some), have=reader.have).have is reader.have
