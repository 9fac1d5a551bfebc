import io
from functools import partial

import pytest

from lake_assets.sources.files import samples
from lake_assets.sources.files.samples import sample_of


def _open(path, *, reads_on=False):  # noqa: ARG001 - as an opener has it
    return io.FileIO(path)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 40])
def test_a_sample_is_of_the_first_bytes_alone_and_of_their_begin_and_end(
    tmp_path, monkeypatch, size
):
    monkeypatch.setattr(samples, "_BYTES", 8)
    path, content = tmp_path / "a", bytes(range(size))
    path.write_bytes(content)
    was = sample_of(partial(_open, path), size)
    path.write_bytes(content + b"more")
    assert sample_of(partial(_open, path), size) == was
    for at in {0, size - 1} - {-1} if size else ():
        path.write_bytes(content[:at] + b"\xff" + content[at + 1 :] + b"more")
        assert sample_of(partial(_open, path), size) != was


def test_a_file_that_is_not_there_has_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        sample_of(partial(_open, tmp_path / "a"), 1)
