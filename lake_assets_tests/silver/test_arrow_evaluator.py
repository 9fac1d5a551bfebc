import pyarrow as pa

from lake_assets.parquet.writer import UNRESOLVED
from lake_assets.silver.arrow_evaluator import Call, Column, Constant, marks_of
from lake_assets.silver.demux_task import mark_violations
from lake_assets.silver.expectation_columns import Reading
from lake_assets.silver.questions import SqlQuestion, encoded

KNOWN = Call("Not", (Call("EqualTo", (Column("gamer"), Constant("", pa.string()))),))
LOW = Call("LessThan", (Column("level"), Constant(10, pa.int32())))
SMALL = Call("EqualTo", (Column("gamer"), Call("Lower", (Column("gamer"),))))

BY_BOTH = Reading(by_row=("level",), row_bits=(0b10,), by_value=("gamer",), value_bits=((0b01,),))


def batch(gamers, levels):
    return pa.RecordBatch.from_pydict(
        {
            "gamer": pa.array(gamers, pa.string()),
            "level": pa.array(levels, pa.int32()),
            UNRESOLVED: pa.nulls(len(gamers), pa.string()),
        }
    )


def test_a_bit_is_set_where_a_condition_is_false_or_null():
    found = marks_of(batch(["ann", "", None], [1, 99, None]), [KNOWN, LOW])
    assert found.to_pydict() == {"#marks_0": [0b00, 0b11, 0b11]}


def test_rows_are_marked_by_their_own_values_and_come_out_as_they_came():
    given = batch(["ann", "", "ann", None, ""], [99, 1, 1, 1, 99])
    ((out, marks),) = mark_violations([given], BY_BOTH, [KNOWN, LOW])
    assert out.equals(given)
    assert [list(column) for column in marks] == [[0b10, 0b01, 0b00, 0b01, 0b11]]


def test_a_batch_in_which_all_is_well_has_no_marks():
    ((_, marks),) = mark_violations([batch(["ann", "bob"], [1, 2])], BY_BOTH, [KNOWN, LOW])
    assert list(marks) == []


def test_a_value_of_which_arrow_is_not_sure_is_a_question():
    by_value = Reading(row_bits=(0,), by_value=("gamer",), value_bits=((0b1,),))
    plain, other = batch(["ann", "Bob"], [1, 2]), batch(["ann", "İ"], [1, 2])
    (_, marks), (asked, none) = mark_violations([plain, other], by_value, [SMALL])
    assert [list(column) for column in marks] == [[0, 1]]
    assert (set(asked[UNRESOLVED].to_pylist()), list(none)) == ({encoded(SqlQuestion("lower"))}, [])


def test_no_rows_are_no_batches():
    assert list(mark_violations([batch([], [])], BY_BOTH, [KNOWN, LOW])) == []
