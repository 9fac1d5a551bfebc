import pytest

from lake_assets.errors import LakeError
from lake_assets.state.kept_rules import is_kept
from lake_assets.state.stream_stops import (
    FOLDER,
    StreamStop,
    forget_stop,
    in_words,
    note_stop,
    stop_of,
    stops_of,
)

STOP = StreamStop(by="anna", at=1_700_000_000.0, reason="the topic moves")


def test_a_stop_is_kept_and_says_who_when_and_why(tmp_path):
    note_stop(tmp_path, "games", STOP)
    assert stop_of(tmp_path, "games") == STOP
    assert in_words(stops_of(tmp_path, ["games", "fitness"])) == (
        "games by anna on 2023-11-14 22:13 UTC (the topic moves)"
    )


def test_of_two_stops_the_first_counts(tmp_path):
    note_stop(tmp_path, "games", STOP)
    assert note_stop(tmp_path, "games", StreamStop(by="otto")) == STOP
    assert stop_of(tmp_path, "games") == STOP


def test_a_stop_that_is_forgotten_is_over(tmp_path):
    note_stop(tmp_path, "games", STOP)
    assert forget_stop(tmp_path, "games") == STOP
    assert stop_of(tmp_path, "games") is None
    assert forget_stop(tmp_path, "games") is None


@pytest.mark.parametrize("content", [b"", b'{"by": "an', b"\xff\xfe", b"[]"])
def test_a_torn_file_is_a_stop_all_the_same(tmp_path, content):
    file = tmp_path / FOLDER / "games.json"
    file.parent.mkdir()
    file.write_bytes(content)
    assert str(stop_of(tmp_path, "games")) == "by somebody"
    forget_stop(tmp_path, "games")
    assert stop_of(tmp_path, "games") is None


@pytest.mark.parametrize("at", ["1e30", "1764352800000", "-1e15", "NaN", "Infinity"])
def test_what_is_no_time_leaves_the_stop_in_words(tmp_path, at):
    file = tmp_path / FOLDER / "games.json"
    file.parent.mkdir()
    file.write_text(f'{{"by": "anna", "at": {at}}}')
    assert str(stop_of(tmp_path, "games")) == "by anna"


def test_a_reason_of_several_lines_is_one_line_in_words():
    assert str(StreamStop(by="anna", reason="it\nmoves\n")) == "by anna (it moves)"


def test_a_folder_in_its_place_stops_and_is_told_when_it_is_to_go(tmp_path):
    file = tmp_path / FOLDER / "games.json"
    file.mkdir(parents=True)
    assert str(stop_of(tmp_path, "games")) == "by somebody"
    with pytest.raises(LakeError, match=r"\(Is a directory\). Move away"):
        forget_stop(tmp_path, "games")
    file.rmdir()
    assert forget_stop(tmp_path, "games") is None


def test_a_file_in_the_place_of_the_folder_stops_nothing_and_is_told(tmp_path):
    (tmp_path / FOLDER).touch()
    assert forget_stop(tmp_path, "games") is None
    with pytest.raises(LakeError, match="cannot be written or deleted"):
        note_stop(tmp_path, "games", STOP)


def test_what_a_later_release_notes_beside_is_no_matter(tmp_path):
    file = tmp_path / FOLDER / "games.json"
    file.parent.mkdir()
    file.write_text('{"by": "anna", "until": 5}')
    assert stop_of(tmp_path, "games") == StreamStop(by="anna")


def test_a_stop_outlasts_the_state_folder():
    assert is_kept(f"{FOLDER}/games.json")
