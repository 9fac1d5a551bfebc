import pytest

from lake_assets.state.run_notes import (
    RunNote,
    forget_runs,
    note_complete,
    note_run_failed,
    note_wanted,
    run_note_of,
)


def test_of_a_new_feed_nothing_is_noted(tmp_path):
    assert run_note_of(tmp_path, "a") == RunNote()
    forget_runs(tmp_path, "a")


def test_a_failure_is_noted_until_all_is_complete(tmp_path):
    note_complete(tmp_path, "a", 1.0)
    note_run_failed(tmp_path, "a", 2.0, "no broker")
    assert run_note_of(tmp_path, "a") == RunNote(complete_at=1.0, failed_at=2.0, why="no broker")
    note_complete(tmp_path, "a", 3.0)
    assert run_note_of(tmp_path, "a") == RunNote(complete_at=3.0)
    assert run_note_of(tmp_path, "b") == RunNote()


def test_a_schedule_is_wanted_since_it_was_first_seen(tmp_path):
    assert note_wanted(tmp_path, "a", 1.0).wanted_since == 1.0
    note_run_failed(tmp_path, "a", 2.0, "no broker")
    note = note_wanted(tmp_path, "a", 3.0)
    assert (note.wanted_since, note.failed_at) == (1.0, 2.0)
    note_complete(tmp_path, "a", 4.0)
    assert note_wanted(tmp_path, "a", 5.0).wanted_since is None
    forget_runs(tmp_path, "a")
    assert note_wanted(tmp_path, "a", 6.0).wanted_since == 6.0


@pytest.mark.parametrize("content", [b"", b"torn", b'{"complete_at": "soon"}', b"\xff"])
def test_a_note_that_cannot_be_read_is_none(tmp_path, content):
    note_complete(tmp_path, "a", 1.0)
    (tmp_path / "feed-runs" / "a.json").write_bytes(content)
    assert run_note_of(tmp_path, "a") == RunNote()


def test_what_another_release_noted_beside_is_left_out(tmp_path):
    note_complete(tmp_path, "a", 1.0)
    (tmp_path / "feed-runs" / "a.json").write_text('{"complete_at": 2, "rows": 7}')
    assert run_note_of(tmp_path, "a").complete_at == 2.0
