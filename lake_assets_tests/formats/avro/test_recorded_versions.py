"""Versions that the registry has deleted, and tables were made with."""

from dataclasses import replace

import pytest

from lake_assets.formats.avro.decoding_plan import plan_decoding
from lake_assets.formats.avro.recorded_versions import with_recorded
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets.model.schema_history import RegisteredVersion
from lake_assets_tests.formats.avro.given import NOTHING, datum, framed, record, rows_of, subject

CARD, IBAN = record(("number", "string"), name="Card"), record(("number", "string"), name="Iban")
CASH = record(("till", "string"), name="Cash")
V1 = record(("paid_by", ["null", CARD, IBAN]))
V2 = record(("paid_by", ["null", IBAN, CASH]))
BOTH = subject(V1, V2)


def left(schemas, *ids):
    """The schemas without those of other ids."""
    return replace(schemas, versions={one: schemas.versions[one] for one in ids})


def recorded(schemas, *ids):
    """What the lake's log has of versions."""
    return [
        RegisteredVersion(
            version=schemas.versions[one].number,
            schema_id=one,
            schema=schemas.versions[one].descriptor_set,
        )
        for one in ids
    ]


def test_a_deleted_version_is_counted_and_its_rows_are_read():
    data = [framed(1, datum(V1, {"paid_by": {"number": "4"}}))]
    data += [framed(2, datum(V2, {"paid_by": {"till": "7"}}))]
    before = rows_of(BOTH, *data)
    assert [sorted(name for name, value in row["paid_by"].items() if value) for row in before] == [
        ["member1"],  # Apache's writer takes the last type that fits
        ["member2"],
    ]
    known = with_recorded(left(BOTH, 2), recorded(BOTH, 1, 2))
    assert known.versions[1].is_deleted
    assert rows_of(known, *data) == before


def test_what_is_there_still_is_as_the_registry_has_it():
    assert with_recorded(BOTH, recorded(BOTH, 1, 2)) is BOTH
    assert with_recorded(BOTH, []) is BOTH


@pytest.mark.parametrize(
    "other",
    [
        subject(V2, V1),  # a registry that was set up again
        replace(BOTH, versions={7: BOTH.versions[1], 8: BOTH.versions[2]}),  # another subject
    ],
)
def test_what_another_registry_had_counts_no_more(other):
    now = left(BOTH, 2)
    assert with_recorded(now, recorded(other, *other.versions)) is now
    again = with_recorded(now, [*recorded(other, *other.versions), *recorded(BOTH, 1, 2)])
    assert again.versions.keys() == {1, 2}


@pytest.mark.parametrize("text", [b"", b"\x0a\x00\xff", b'{"type": "object"}', b"[]", b"7"])
def test_what_a_feed_had_of_another_language_is_none(text):
    other = RegisteredVersion(version=5, schema_id=5, schema=text)
    assert with_recorded(BOTH, [other]) is BOTH


def test_a_version_that_cannot_be_used_is_none():
    bad = [replace(one, note="is no valid Avro") for one in recorded(BOTH, 1)]
    assert with_recorded(left(BOTH, 2), bad).versions.keys() == {2}


def test_a_version_that_was_deleted_as_the_newest_leads_no_others():
    old, new = (
        record(("a", "int")),
        record({"name": "b", "type": "int", "aliases": ["a"]}, ("c", "int")),
    )
    both = subject(old, new)
    deleted = {**both.versions, 2: replace(both.versions[2], is_deleted=True)}
    known = replace(both, versions=deleted)
    assert plan_decoding(known, NOTHING).columns.names == ["a"]
    met = plan_decoding(known.meet([(2, FIRST)]), NOTHING)
    assert met.columns.names[0] == "a"
    assert met.readers.keys() == {1, 2}
    assert plan_decoding(both, NOTHING).columns.names == ["b", "c"]


def test_an_old_version_that_is_deleted_has_the_newest_ones_names():
    old = record(("a", "int"))
    new = record({"name": "b", "type": "int", "aliases": ["a"]})
    both = subject(old, new)
    known = replace(both, versions={**both.versions, 1: replace(both.versions[1], is_deleted=True)})
    assert rows_of(known, framed(1, datum(old, {"a": 1}))) == [{"b": 1}]


def test_where_all_are_deleted_the_newest_leads():
    gone = {one: replace(version, is_deleted=True) for one, version in BOTH.versions.items()}
    assert plan_decoding(replace(BOTH, versions=gone), NOTHING).readers.keys() == {2}
