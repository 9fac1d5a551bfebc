"""Unions whose types have names: which member a value becomes, in which version."""

import io
import json

import fastavro
import pytest

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.avro.schema import DEEPEST
from lake_assets_tests.formats.avro.given import framed, record, rows_of, subject


def datum(schema, value):
    """What fastavro makes of a value; a pair says by its name of which type of a union it is."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def event(*branches):
    return record(("u", ["null", *branches]))


def decoded(versions, *values):
    """What rows become: each a version's index and the value of its union."""
    data = [framed(at + 1, datum(versions[at], {"u": value})) for at, value in values]
    return [row["u"] for row in rows_of(subject(*versions), *data)]


def named(name, *fields):
    return record(*(fields or [("x", "int")]), name=name)


def test_two_types_of_one_simple_name_are_two_members():
    both = event(named("a.T"), named("b.T"))
    assert decoded([both], (0, ("a.T", {"x": 1})), (0, ("b.T", {"x": 2})), (0, None)) == [
        {"member0": {"x": 1}, "member1": None},
        {"member0": None, "member1": {"x": 2}},
        None,
    ]


def test_enums_and_fixed_types_of_one_simple_name_are_two_members():
    enums = [{"type": "enum", "name": f"{one}.E", "symbols": [one.upper()]} for one in "ab"]
    fixed = [{"type": "fixed", "name": f"{one}.F", "size": 1} for one in "ab"]
    schema = event(*enums, *fixed)
    a, b, c, d = decoded([schema], *((0, one) for one in ("A", "B", ("a.F", b"1"), ("b.F", b"2"))))
    assert (a["member0"], b["member1"], c["member2"], d["member3"]) == ("A", "B", b"1", b"2")


def test_a_type_of_a_taken_simple_name_that_a_later_version_brings_comes_last():
    versions = [event("string", named("a.T")), event(named("b.T"), named("a.T"), "string")]
    old, a, b = decoded(
        versions, (0, ("a.T", {"x": 1})), (1, ("a.T", {"x": 2})), (1, ("b.T", {"x": 3}))
    )
    assert old == {"member0": None, "member1": {"x": 1}, "member2": None}
    assert a == {"member0": None, "member1": {"x": 2}, "member2": None}
    assert b == {"member0": None, "member1": None, "member2": {"x": 3}}


def test_what_a_later_version_brings_moves_no_member_of_an_older_one():
    versions = [
        event("string", named("a.T")),
        event("string", named("b.T")),
        event("string", named("a.T"), named("b.T")),
    ]
    values = [(0, ("a.T", {"x": 1})), (1, ("b.T", {"x": 2}))]
    before = decoded(versions[:2], *values)
    after = decoded(versions, *values)
    assert [one["member1"] for one in before] == [{"x": 1}, {"x": 2}]
    assert [one["member1"] for one in after] == [{"x": 1}, {"x": 2}]


def test_a_namespace_may_move_with_renames_and_defaults():
    old = event(named("v1.A"), named("v1.B", ("y", "int")))
    renamed = {"name": "x2", "type": "int", "aliases": ["x"]}
    more = {"name": "z", "type": "int", "default": 7}
    new = event(named("v2.A", renamed, more), named("v2.B", ("y", "int")))
    assert decoded([old, new], (0, ("v1.A", {"x": 1})), (1, ("v2.A", {"x2": 2, "z": 3}))) == [
        {"member0": {"x2": 1, "z": 7}, "member1": None},
        {"member0": {"x2": 2, "z": 3}, "member1": None},
    ]


def test_renames_of_one_type_are_none_of_another_of_its_simple_name():
    old = event(named("a.T"), named("b.T"))
    renamed = {"name": "x2", "type": "int", "aliases": ["x"]}
    new = event(named("a.T", renamed), named("b.T"))
    assert decoded([old, new], (0, ("a.T", {"x": 1})), (0, ("b.T", {"x": 2}))) == [
        {"member0": {"x2": 1}, "member1": None},
        {"member0": None, "member1": {"x": 2}},
    ]


def test_a_type_that_is_renamed_by_an_alias_is_the_same_and_so_are_its_fields():
    renamed = {"name": "x2", "type": "int", "aliases": ["x"]}
    new = {**named("n.B", renamed), "aliases": ["A"]}
    versions = [event(named("A"), named("C")), event(named("C"), new), event(named("A"), new)]
    first, second, a, b = decoded(
        versions,
        (0, ("A", {"x": 1})),
        (1, ("n.B", {"x2": 2})),
        (2, ("A", {"x": 3})),
        (2, ("n.B", {"x2": 4})),
    )
    assert (first["member0"], second["member0"]) == ({"x2": 1}, {"x2": 2})
    # Where a version has both names, they are two.
    assert (a["member2"], b["member0"]) == ({"x": 3}, {"x2": 4})


def nested(depth):
    kind: object = "int"
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
    return record(("l", kind))


def test_types_within_each_other_are_decoded_as_deep_as_they_compile():
    depth = DEEPEST - 1  # of the record and of the items
    value = framed(1, b"\2" * depth + b"\2" + b"\0" * depth)
    (row,) = rows_of(subject(nested(depth)), value)
    found = row["l"]
    for _ in range(depth):
        (found,) = found
    assert found == 1


@pytest.mark.parametrize("depth", [DEEPEST, 150])
def test_types_that_are_too_deep_to_be_decoded_do_not_compile(depth):
    with pytest.raises(SchemaUnusableError, match=f"at l more than {DEEPEST} types within each"):
        subject(nested(depth))
