import pickle

import pyarrow as pa
import pytest

from lake_assets.errors import LakeError
from lake_assets_tests.formats.contract import check_format
from lake_assets_tests.formats.csv.given import FITNESS, payload_format
from lake_assets_tests.formats.json.given import NOTHING, batch, rows_of

VALUES = (b"1,a", None, b"", b'"', b"x,a", b"1", b"1,2,3")


@pytest.mark.parametrize("rule", ["rescue", "quarantine"])
def test_it_keeps_the_contract(rule):
    check_format(payload_format("i int, s string", on_mismatch=rule), batch(*VALUES))


def test_the_columns_are_those_of_the_declaration():
    made = payload_format()
    (columns,) = made.made_by(made.newest(), ())
    assert columns.names == ["time", "model", "heart_bpm", "kcal", "_rescued"]
    strict = payload_format(on_mismatch="quarantine")
    assert strict.made_by(strict.newest(), ())[0].names == columns.names[:-1]


def test_columns_that_are_no_longer_declared_are_null_and_others_as_wide_as_they_are():
    made = payload_format("i int")
    have = pa.schema([("old", pa.string()), ("i", pa.int64())])
    plan = made.plan(made.newest(), have, ())
    assert plan.columns.names == ["old", "i", "_rescued"]
    assert plan.columns.field("i").type == pa.int64()
    assert rows_of(plan.decode(batch(b"1", b"3000000000"))) == [
        {"i": 1},
        {"_rescued": '{"i":"3000000000"}'},
    ]


def test_a_type_that_does_not_go_with_the_tables_is_an_error():
    made = payload_format("i int")
    with pytest.raises(LakeError, match="column i is string, and declared as int"):
        made.plan(made.newest(), pa.schema([("i", pa.string())]), ())


def test_a_plan_is_picklable_and_nobody_is_asked():
    made = payload_format(FITNESS, delimiter="\t")
    made.check()
    plan = made.plan(made.newest(), NOTHING, ())
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301 - our own bytes
    assert made.resolve(made.newest(), frozenset()) == made.for_next_batch(made.newest(), 0.0)
    assert made.let_wait(made.newest(), frozenset()) == made.newest()
