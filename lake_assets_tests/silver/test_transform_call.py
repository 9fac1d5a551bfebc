"""Rows for which a function fails do not take others along."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.silver.transform_call import transformed

ROWS = pa.schema([("n", pa.int64())])
GIVES = pa.schema([("n", pa.int64()), ("twice", pa.int64())])


def batch(*numbers):
    return pa.RecordBatch.from_pydict({"n": list(numbers)}, schema=ROWS)


class Doubling:
    """Fails for some numbers; counts its calls."""

    def __init__(self, *bad):
        self.bad, self.calls = bad, 0

    def __call__(self, rows):
        self.calls += 1
        for number in rows["n"].to_pylist():
            if number in self.bad:
                message = f"no {number}\nand more"
                raise KeyError(message) if number % 2 else ValueError(message)
        return rows.append_column("twice", pc.multiply(rows["n"], 2))


@given(st.lists(st.integers(0, 20)), st.sets(st.integers(0, 20)))
def test_each_row_is_as_if_it_came_alone(numbers, bad):
    made = transformed(Doubling(*bad), batch(*numbers), GIVES)
    assert made.columns["twice"].to_pylist() == [None if n in bad else 2 * n for n in numbers]
    assert made.columns["n"].to_pylist() == [None if n in bad else n for n in numbers]
    assert [place for place, _ in made.failures] == [i for i, n in enumerate(numbers) if n in bad]


def test_a_failure_is_told_as_in_the_last_line_of_its_traceback():
    made = transformed(Doubling(4), batch(3, 4), GIVES)
    assert made.failures == ((1, "ValueError: no 4"),)


class WordlessError(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("problem", "detail"),
    [
        (ValueError("key \ud800 is unknown"), "ValueError: key \\ud800 is unknown"),
        (WordlessError(), "WordlessError: <exception str() failed>"),
    ],
)
def test_what_cannot_be_text_fails_its_row_alone(problem, detail):
    def function(rows):
        if 4 in rows["n"].to_pylist():
            raise problem
        return rows.append_column("twice", pc.multiply(rows["n"], 2))

    made = transformed(function, batch(3, 4), GIVES)
    assert made.failures == ((1, detail),)
    assert pa.array([detail], pa.string()).to_pylist() == [detail]
    assert made.columns["twice"].to_pylist() == [6, None]


def test_few_calls_find_a_row_that_fails():
    doubling = Doubling(700)
    made = transformed(doubling, batch(*range(1000)), GIVES)
    assert len(made.failures) == 1
    assert doubling.calls <= 2 * 10 + 1


@pytest.mark.parametrize(
    ("function", "detail"),
    [
        (lambda rows: rows, "gave columns n, and is to give n, twice"),
        (lambda rows: rows.slice(0, 0), "gave 0 rows for 1"),
        (lambda _: [1], "gave list, and not a pyarrow.RecordBatch"),
        (
            lambda rows: rows.append_column("twice", pa.array(["x"] * rows.num_rows)),
            "gave twice as string, and is to give int64",
        ),
    ],
)
def test_what_it_gives_must_be_what_it_gave_when_it_was_tried(function, detail):
    made = transformed(function, batch(1, 2), GIVES)
    assert made.failures == tuple((i, f"BrokenPromiseError: {detail}") for i in (0, 1))
    assert made.columns["n"].to_pylist() == [None, None]


def test_columns_may_come_in_another_order_and_of_a_type_that_fits():
    def narrow(rows):
        twice = pc.multiply(rows["n"], 2).cast(pa.int8())
        return pa.RecordBatch.from_arrays([twice, rows["n"]], names=["twice", "n"])

    assert transformed(narrow, batch(1), GIVES).columns == pa.RecordBatch.from_pydict(
        {"n": [1], "twice": [2]}, schema=GIVES
    )


def test_memory_that_is_gone_is_no_rows_fault():
    def hungry(_):
        raise MemoryError

    with pytest.raises(MemoryError):
        transformed(hungry, batch(1, 2), GIVES)
