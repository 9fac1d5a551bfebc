import pickle
from itertools import permutations

import pyarrow as pa
import pytest

from lake_assets.errors import LakeError
from lake_assets.formats.json.inference import MOST_COLUMNS
from lake_assets.formats.json.payload_format import JsonFormat
from lake_assets.formats.questions import NewColumnsQuestion
from lake_assets.model.misfits import OnUnknown
from lake_assets_tests.formats.contract import check_format
from lake_assets_tests.formats.json.given import NOTHING, batch, payload_format, rows_of

ADDING = payload_format("i int", on_unknown="add_columns")


def resolved(*questions, schemas=None):
    return ADDING.resolve(schemas or ADDING.newest(), frozenset(map(NewColumnsQuestion, questions)))


def planned(schemas, have=NOTHING):
    return ADDING.plan(schemas, have, ())


def types_of(plan):
    return {field.name: str(field.type) for field in plan.columns}


def test_an_answer_is_never_asked_for_again():
    value = batch(b'{"i":1,"a":1,"b":"x"}', b'{"A":1,"a":"y"}')
    (question,) = planned(ADDING.newest()).decode(value).questions
    plan = planned(ADDING.resolve(ADDING.newest(), frozenset({question})))
    found = plan.decode(value)
    assert not found.questions
    assert len(rows_of(found)) == 2


def test_rows_that_ask_are_read_once_there_are_columns():
    schemas = resolved((("a", "bigint"), ("s", "struct<`x`: double>")))
    plan = planned(schemas)
    assert types_of(plan) == {
        "i": "int32",
        "a": "int64",
        "s": "struct<x: double>",
        "_rescued": "string",
    }
    assert rows_of(plan.decode(batch(b'{"i":1,"a":2,"s":{"x":1}}', b'{"a":"x"}'))) == [
        {"i": 1, "a": 2, "s": {"x": 1.0}},
        {"_rescued": '{"a":"x"}'},
    ]


def test_integers_beside_fractions_make_a_double():
    assert types_of(planned(resolved((("a", "bigint"),), (("a", "double"),))))["a"] == "double"


def test_of_types_that_do_not_go_together_one_is_chosen_whatever_the_order():
    questions = [(("a", "string"),), (("a", "boolean"),)]
    chosen = {types_of(planned(resolved(*some)))["a"] for some in (questions, questions[::-1])}
    assert chosen == {"bool"}


@pytest.mark.parametrize(
    ("kinds", "kind"),
    [
        (["bigint", "string"], "int64"),
        (["boolean", "bigint", "double", "string"], "double"),
        (["array<bigint>", "string"], "string"),
        (["array<bigint>", "array<double>"], "list<item: double>"),
        (
            ["struct<`x`: bigint>", "struct<`x`: bigint, `y`: string>"],
            "struct<x: int64, y: string>",
        ),
        (["array<string>", "boolean", "struct<`x`: bigint>"], "bool"),
    ],
)
def test_the_type_of_a_column_is_chosen_by_a_fixed_order(kinds, kind):
    for some in permutations(kinds):
        assert types_of(planned(resolved(*((("a", each),) for each in some))))["a"] == kind


@pytest.mark.parametrize(
    "value", ["9007199254740993", "1" * 30, "1" * 60, "[9007199254740993,1.5]"]
)
def test_an_integer_that_an_added_double_would_round_is_rescued(value):
    kind = "array<double>" if value.startswith("[") else "double"
    plan = planned(resolved((("a", kind),)))
    raw = f'{{"a":{value}}}'
    exact = '{"a":[1e300,2]}' if value.startswith("[") else '{"a":1e300}'
    for others in [], [exact], [exact, "{"]:
        found = rows_of(plan.decode(batch(*(text.encode() for text in [raw, *others]))))
        assert found[0] == {"_rescued": raw}
        assert all("a" in row for row in found[1:2])


def test_a_declared_double_has_the_nearest_value_as_sparks_has():
    declared = payload_format("a double", on_unknown="add_columns")
    plan = declared.plan(declared.newest(), NOTHING, ())
    assert rows_of(plan.decode(batch(b'{"a":9007199254740993}'))) == [{"a": 2.0**53}]


def test_an_integer_that_fits_no_bigint_gets_no_column():
    found = planned(ADDING.newest()).decode(batch(b'{"a":' + b"1" * 60 + b"}", b'{"b":-0}'))
    assert [question.columns for question in found.questions] == [(("b", "bigint"),)]


def test_after_a_restart_the_tables_columns_count():
    have = pa.schema([(f"old{n}", pa.int64()) for n in range(MOST_COLUMNS - 3)])
    value = batch(*(f'{{"new{n}":1}}'.encode() for n in range(9)))
    schemas = ADDING.newest()
    plan = planned(schemas, have)
    schemas = ADDING.resolve(schemas, frozenset(plan.decode(value).questions))
    plan = planned(schemas, plan.columns)
    found = plan.decode(value)
    assert len(plan.columns) == MOST_COLUMNS + 1  # and `_rescued`
    assert not found.questions
    assert sum("_rescued" in row for row in rows_of(found)) == 7
    assert planned(schemas, plan.columns).columns == plan.columns


def test_a_column_that_tables_are_partitioned_by_is_not_added():
    """A day is made of another column; what a row calls so stays in the row's rest."""
    adding = JsonFormat("fitness", ADDING.declared, taken=("day",))
    plan = adding.plan(adding.newest(), NOTHING, ())
    values = ['{"day":"monday"}', '{"Day":1}']
    found = plan.decode(batch(*(value.encode() for value in values)))
    assert rows_of(found) == [{"_rescued": value} for value in values]
    schemas = adding.resolve(adding.newest(), frozenset({NewColumnsQuestion((("day", "string"),))}))
    assert schemas.added.names == []


def test_a_restart_reads_the_columns_that_were_added_before():
    have = planned(resolved((("a", "bigint"),))).columns
    plan = planned(ADDING.newest(), have)
    assert plan.columns == have
    assert rows_of(plan.decode(batch(b'{"a":2}'))) == [{"a": 2}]


def test_a_table_does_not_get_columns_without_end():
    value = batch(*(f'{{"c{n}":1}}'.encode() for n in range(MOST_COLUMNS + 9)))
    plan = planned(
        ADDING.resolve(ADDING.newest(), frozenset(planned(ADDING.newest()).decode(value).questions))
    )
    assert len(plan.columns) == MOST_COLUMNS + 1
    found = plan.decode(value)
    assert not found.questions
    assert sum("_rescued" in row for row in rows_of(found)) == 10


def test_a_declared_type_that_does_not_go_with_the_tables_is_an_error():
    with pytest.raises(LakeError, match="column i is string, and declared as int"):
        planned(ADDING.newest(), pa.schema([("i", pa.string())]))


def test_a_plan_is_picklable():
    plan = planned(ADDING.newest())
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301 - our own bytes


def test_what_is_made_are_the_columns_of_the_declaration():
    (made,) = ADDING.made_by(ADDING.newest(), ())
    assert made.names == ["i", "_rescued"]


@pytest.mark.parametrize("rule", sorted({*OnUnknown} - {OnUnknown.FAIL}))
def test_it_keeps_the_contract(rule):
    values = [b'{"i":1}', None, b"", b"{", b'{"i":"x"}', b'{"i":1,"n":1}', b'{"n":[1]}', b'{"N":2}']
    check_format(payload_format("i int", on_unknown=rule), batch(*values))
