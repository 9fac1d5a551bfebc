import pickle

import pyarrow as pa
import pytest

from lake_assets.errors import LakeError
from lake_assets.formats.base import NewColumnsQuestion
from lake_assets.formats.json.columns import MOST_COLUMNS
from lake_assets.model.payload import OnUnknown
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
    (question, other) = planned(ADDING.newest()).decode(value).questions
    plan = planned(ADDING.resolve(ADDING.newest(), frozenset({question, other})))
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


@pytest.mark.parametrize("rule", list(OnUnknown))
def test_it_keeps_the_contract(rule):
    values = [b'{"i":1}', None, b"", b"{", b'{"i":"x"}', b'{"i":1,"n":1}', b'{"n":[1]}', b'{"N":2}']
    check_format(payload_format("i int", on_unknown=rule), batch(*values))
