import json
from itertools import permutations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.formats.json.inference import ddl_of, holds, inferred, joined, names_in
from lake_assets.formats.json.parse import parse
from lake_assets_tests.formats.json.inferred_kinds import KINDS


def of(text):
    kind = inferred(parse(f'{{"v":{text}}}'.encode())["v"])
    return None if kind is None else ddl_of(kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("true", "boolean"),
        ("-0", "bigint"),
        ("9223372036854775807", "bigint"),
        ("9223372036854775808", None),
        ("1.0", "double"),
        ("1e400", None),
        ('"2026-11-22T12:00:00Z"', "string"),
        ('"7"', "string"),
        ("null", None),
        ("[]", None),
        ("{}", None),
        ("[null,[]]", None),
        ("[1,null,2.5]", "array<double>"),
        ('[1,"a"]', None),
        ('{"x":1,"none":null,"many":[],"mixed":[1,"a"],"a.b":1,"X":2}', "struct<`x`: bigint>"),
        ('[{"x":1},{},{"x":2.5,"y":"a"}]', "array<struct<`x`: double, `y`: string>>"),
        ('[{"x":1},{"x":"a"}]', None),
        (
            '{"a":{"b":{"c":{"d":1,"e":{"f":1}}}}}',
            "struct<`a`: struct<`b`: struct<`c`: struct<`d`: bigint>>>>",
        ),
    ],
)
def test_the_type_of_a_value(text, kind):
    assert of(text) == kind


X = pa.struct([("x", pa.int64())])
XY = pa.struct([("x", pa.float64()), ("y", pa.string())])


@pytest.mark.parametrize(
    ("have", "came", "wider"),
    [
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.float64(), pa.int64(), pa.float64()),
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.int64(), pa.string(), pa.int64()),
        (pa.string(), pa.int64(), pa.string()),
        (pa.bool_(), pa.int64(), pa.bool_()),
        (pa.timestamp("us", "UTC"), pa.string(), pa.timestamp("us", "UTC")),
        (X, XY, XY),
        (XY, X, XY),
        (pa.list_(X), pa.list_(XY), pa.list_(XY)),
        (X, pa.struct([("X", pa.string())]), X),
        (X, pa.list_(X), X),
    ],
)
def test_what_a_column_becomes(have, came, wider):
    assert joined(have, came) == wider


def test_what_may_not_round_or_grow_does_not():
    assert joined(X, XY, rounds=False) == pa.struct([("x", pa.int64()), ("y", pa.string())])
    assert joined(X, XY, adds=False) == pa.struct([("x", pa.float64())])


@given(KINDS, KINDS)
@settings(deadline=None)
def test_a_column_never_gets_narrower_and_what_was_asked_is_not_asked_again(have, came):
    wider = joined(have, came)
    assert holds(wider, have)
    assert joined(wider, came) == wider
    assert joined(wider, have) == wider
    assert names_in(wider) >= names_in(have)


def together(kinds):
    whole = kinds[0]
    for kind in kinds[1:]:
        whole = joined(whole, kind)
    return whole


def named(kind):
    """A type without the order of its fields."""
    if pa.types.is_struct(kind):
        return frozenset((field.name, named(field.type)) for field in kind)
    return (named(kind.value_type),) if pa.types.is_list(kind) else kind


GOING_TOGETHER = st.recursive(
    st.sampled_from([pa.int64(), pa.float64()]),
    lambda inner: st.lists(st.sampled_from("xyz"), min_size=1, max_size=3, unique=True).flatmap(
        lambda names: st.tuples(*[inner for _ in names]).map(
            lambda kinds: pa.struct(list(zip(names, kinds, strict=True)))
        )
    ),
    max_leaves=5,
)


@given(st.lists(GOING_TOGETHER, min_size=2, max_size=4))
@settings(deadline=None)
def test_types_that_go_together_make_the_same_in_any_order(kinds):
    whole = together(kinds)
    if all(holds(whole, kind) for kind in kinds):
        assert {named(together(some)) for some in permutations(kinds)} == {named(whole)}


def test_a_value_fits_the_type_that_is_inferred_from_it():
    value = {"a": [1, 2.5], "o": {"x": True, "y": [{"z": "t"}]}}
    kind = inferred(parse(json.dumps(value).encode()))
    assert pa.array([value], kind).to_pylist() == [value]
