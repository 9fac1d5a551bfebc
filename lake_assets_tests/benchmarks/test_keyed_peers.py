import pyarrow as pa
import pytest

from benchmarks.keyed_peers import differing, iceberg_jar


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


def test_the_newest_jar_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert iceberg_jar() is None
    place = tmp_path / ".m2/repository/org/apache/iceberg/iceberg-spark-runtime-4.1_2.13"
    for version in ("1.11.0", "1.12.0"):
        (place / version).mkdir(parents=True)
        (place / version / f"iceberg-{version}.jar").touch()
    assert iceberg_jar().parent.name == "1.12.0"
