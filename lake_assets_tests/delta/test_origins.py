import numpy as np
import pyarrow as pa
import pytest

from lake_assets.delta.origins import Everything, From, Origins, Within, columns_in
from lake_assets_tests.columns import KAFKA


def rows(*places, prefix="_"):
    return pa.table(
        {
            f"{prefix}topic": pa.array([topic for topic, _, _ in places], pa.string()),
            f"{prefix}partition": pa.array([p for _, p, _ in places], pa.int32()),
            f"{prefix}offset": pa.array([o for _, _, o in places], pa.int64()),
        }
    )


ROWS = [("a", 0, 5), ("a", 1, 5), ("b", 0, 5), ("a", 0, 6)]


def test_everything_is_everything():
    assert Everything().mask(rows(*ROWS)).tolist() == [True] * 4


@pytest.mark.parametrize("prefix", ["", "_"])
def test_rows_from_an_offset_on_are_told_by_partition(prefix):
    starts = From({("a", 0): 6, ("b", 0): 1}, KAFKA)
    assert starts.mask(rows(*ROWS, prefix=prefix)).tolist() == [False, False, True, True]


def test_rows_of_spans_are_told_by_partition():
    spans = Within({("a", 0): [(1, 3), (6, 8)], ("b", 0): [(0, 5)]}, KAFKA)
    assert spans.mask(rows(*ROWS)).tolist() == [False, False, False, True]


def test_rows_are_told_one_by_one():
    some = Origins(KAFKA)
    some.add(rows(("a", 0, 5), ("b", 0, 9)))
    some.add(rows(("a", 0, 7), prefix=""))
    assert len(some) == 3
    assert some.mask(rows(*ROWS)).tolist() == [True, False, False, False]
    assert some.mask(rows(("a", 0, 7))).tolist() == [True]


def test_no_rows_have_no_mask():
    assert not np.any(Origins(KAFKA).mask(rows()))
    assert len(Origins(KAFKA).mask(rows(*ROWS))) == 4


def test_the_columns_are_found_in_both_forms():
    assert columns_in(["x", "topic", "offset"], KAFKA) == KAFKA
    assert columns_in(["offset", "_offset"], KAFKA).identity == ("_topic", "_partition", "_offset")
