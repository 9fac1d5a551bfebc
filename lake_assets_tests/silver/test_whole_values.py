"""Values of several rows that are judged: one reason for each, and what is counted of them."""

import numpy as np
import pyarrow as pa
import pytest

from lake_assets.model.expectations import Action
from lake_assets.parquet.writer import TABLE
from lake_assets.silver.apply_expectations import Judge, Rule, outcomes
from lake_assets.silver.rows import DETAIL, REASON, VALUE
from lake_assets_tests.columns import KAFKA

SILVER, QUARANTINE = 0, 1

SOFT = Rule(name="soft", action=Action.QUARANTINE, keys=(True,))
HARD = Rule(name="hard", action=Action.FAIL, keys=(True,), is_skipped=True)
SMALL = Rule(name="small", action=Action.DROP, keys=(True,))


def judged(rules, *values):
    """Where rows go, and what was counted; of each value the marks of its elements."""
    elements = [number for value in values for number, _ in enumerate(value)]
    count = len(elements)
    rows = pa.RecordBatch.from_pydict(
        {
            "_element": pa.array(elements, pa.int32()),
            "_topic": ["t"] * count,
            "_partition": pa.array([0] * count, pa.int32()),
            "_offset": pa.array([at for at, v in enumerate(values) for _ in v], pa.int64()),
            VALUE: pa.array([None if number else b"v" for number in elements], pa.binary()),
            REASON: pa.nulls(count, pa.string()),
            DETAIL: pa.nulls(count, pa.string()),
            TABLE: pa.array([SILVER] * count, pa.int32()),
        }
    )
    marks = [np.array([bits for value in values for bits in value])]
    judge = Judge(rules, 1, lambda _: [(rows, marks)], KAFKA.in_silver, explodes=True)
    (found,) = judge([rows])
    return found.to_pylist(), outcomes(judge.notes(), rules)[0]


@pytest.mark.parametrize(
    ("elements", "detail"),
    [
        ([1, 2], "element 1, and 1 more: hard"),
        ([2, 1], "element 0, and 1 more: hard"),
        ([1, 1, 0, 3], "element 3, and 2 more: soft, hard"),
    ],
)
def test_a_value_of_a_skipped_batch_is_skipped_whatever_else_is_wrong(elements, detail):
    found, _ = judged([SOFT, HARD], [1, 0], elements, [0])
    refused = [row for row in found if row[TABLE] == QUARANTINE]
    assert [(row["_offset"], row[REASON], row[DETAIL]) for row in refused] == [
        (0, "expectation", "element 0: soft"),
        (1, "skipped", detail),
    ]
    assert [row["_offset"] for row in found if row[TABLE] == SILVER] == [2]


def test_an_element_is_not_counted_as_dropped_where_its_value_is_refused():
    found, outcome = judged([SMALL, SOFT], [1, 2, 0], [1, 0, 1], [0])
    assert [row[TABLE] for row in found] == [QUARANTINE, None, None, None, SILVER, None, SILVER]
    assert outcome.dropped == 2
    assert outcome.judged["small"].violated == 3
