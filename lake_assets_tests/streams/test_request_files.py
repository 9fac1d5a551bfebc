import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from lake_assets.runtime.processes import own_process
from lake_assets.streams import request_files
from lake_assets.streams.request_files import Signs, open_request, tell


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


def request(tmp_path, boot=None):
    """A request of this process, or of one on another machine, and its file."""
    own = own_process()
    process = own if boot is None else replace(own, boot=boot)
    file = tmp_path / "a.taken"
    file.touch()
    return SimpleNamespace(process=process), file


def test_an_asker_of_this_machine_lives_as_its_process_does(tmp_path):
    asked, file = request(tmp_path)
    assert Signs().is_of_living(asked, file)
    file.unlink()
    assert Signs().is_of_living(asked, file), "who is asked for by name needs no sign"


def test_an_asker_elsewhere_lives_while_it_gives_signs(tmp_path, monkeypatch):
    asked, file = request(tmp_path, boot="another container")
    signs = Signs()
    assert signs.is_of_living(asked, file)
    monkeypatch.setattr(request_files, "_SILENT_AFTER_S", 0.0)
    assert not signs.is_of_living(asked, file)
    os.utime(file, ns=(1, 1))  # by a clock that is years behind
    assert signs.is_of_living(asked, file)
    file.unlink()
    assert not signs.is_of_living(asked, file)


def test_who_waits_for_an_answer_gives_signs(tmp_path, monkeypatch):
    monkeypatch.setattr(request_files, "_TOUCH_EVERY_S", 0.0)
    with open_request(tmp_path, "{}") as asked:
        (file,) = tmp_path.glob("*.json")
        taken = file.rename(file.with_suffix(".taken"))
        os.utime(taken, ns=(1, 1))
        asked.answer()
        assert taken.stat().st_mtime_ns > 1
