import pyarrow as pa
import pytest

from benchmarks.keyed_peers import differing


def rows(*found):
    names = ("id", "version", "value")
    return pa.Table.from_pylist([dict(zip(names, one, strict=True)) for one in found])


def test_the_same_rows_in_another_order_do_not_differ():
    first = rows((1, 1, "a"), (2, 1, "b"))
    assert not differing([first, rows((2, 1, "b"), (1, 1, "a"))])


@pytest.mark.parametrize("other", [[(1, 1, "a")], [(1, 1, "a"), (2, 2, "b")], [(1, 1, "a")] * 2])
def test_other_rows_differ(other):
    first = rows((1, 1, "a"), (2, 1, "b"))
    assert differing([first, first, rows(*other)])
