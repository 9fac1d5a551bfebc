import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from lake_assets.runtime.atomic_write import replace_text


def test_a_replaced_text_leaves_one_file(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    replace_text(path, "old")
    replace_text(path, "new")
    assert {p.name: p.read_text() for p in path.parent.iterdir()} == {"a.txt": "new"}


def test_a_reader_of_the_old_text_keeps_it(tmp_path):
    path = tmp_path / "a.txt"
    replace_text(path, "old")
    with path.open() as reader:
        replace_text(path, "new")
        assert reader.read() == "old"


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_it_has_the_mode_that_was_asked_for(tmp_path, mode):
    replace_text(tmp_path / "x", "text", mode=mode)
    assert (tmp_path / "x").stat().st_mode & 0o777 == mode


def test_what_cannot_be_put_in_place_leaves_nothing(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(OSError, match=r"a\.txt"):
        replace_text(tmp_path / "a.txt", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_threads_that_replace_the_same_file_do_not_meet(tmp_path):
    path = tmp_path / "a.txt"
    texts = [str(number) * 10_000 for number in range(50)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: replace_text(path, text), texts))
    assert path.read_text() in texts
    assert os.listdir(tmp_path) == ["a.txt"]  # noqa: PTH208 - names alone
