import pytest

from lake_assets.streams import request_files
from lake_assets.streams.request_files import open_request, tell


@pytest.fixture
def asked(tmp_path):
    """A request that was taken, as whoever asked sees it and as whoever answers does."""
    with open_request(tmp_path, "{}") as request:
        (path,) = tmp_path.glob("*.json")
        taken = path.rename(path.with_suffix(".taken"))
        yield request, taken


def test_lines_are_told_once_each_and_whole(asked):
    request, taken = asked
    assert request.told() == []
    tell(taken, "a\u2028b")
    tell(taken, "c")
    assert request.told() == ["a\u2028b", "c"]
    with taken.with_suffix(".events").open("ab") as file:
        file.write(b"half a ")
        file.flush()
        assert request.told() == []
        file.write(b"line\n")
    assert request.told() == ["half a line"]
    assert request.told() == []


def test_what_nobody_waits_for_any_more_is_neither_told_nor_answered(tmp_path):
    with open_request(tmp_path, "{}") as request:
        assert request.is_open()
        assert request.is_withdrawn()
        assert not request.is_open()
    gone = tmp_path / "gone.taken"
    tell(gone, "a")
    request_files.answer(gone, "b")
    assert list(tmp_path.iterdir()) == []


def test_a_request_leaves_nothing(asked, tmp_path):
    request, taken = asked
    tell(taken, "a")
    request_files.answer(taken, "done")
    assert (request.answer(), request.is_withdrawn(), request.is_open()) == ("done", False, True)
    with open_request(tmp_path, "{}"):
        pass
    assert {path.suffix for path in tmp_path.iterdir()} == {".taken", ".events", ".answer"}
