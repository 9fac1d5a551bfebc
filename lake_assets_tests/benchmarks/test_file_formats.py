import pytest

from benchmarks.file_formats import FORMATS, measure_format


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_each_format_is_counted_and_read_as_a_whole(tmp_path, name):
    found = measure_format(tmp_path / "files", name, 500, runs=2)
    assert (found["format"], found["rows"]) == (name, 500)
    assert all(isinstance(one, float | int) and one > 0 for one in [*found.values()][2:])
