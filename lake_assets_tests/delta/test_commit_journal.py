import pytest

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.commit_journal import Journal, feeds_noted, journal_of
from lake_assets.errors import LakeError
from lake_assets.model.tables import bronze_of, quarantine_of

BATCH = Batch("query", 7)
COMMITS = [
    Commit(
        table=bronze_of("games"),
        files=[
            DataFile(
                path="day=2026-11-21/a.parquet",
                size=10,
                rows=2,
                stats='{"numRecords": 2}',
                partition={"day": "2026-11-21"},
            )
        ],
        info={"rows": "2"},
    ),
    Commit(table=quarantine_of("games"), files=[]),
]


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journals" / "games-demux.json")


def test_an_absent_journal_knows_no_batch(journal):
    assert journal.last() is None


def test_a_noted_batch_comes_back_as_it_was(journal):
    journal.write(BATCH, COMMITS)
    assert journal.last() == (BATCH, COMMITS)


def test_a_note_comes_back_beside_the_commits(journal):
    journal.write(BATCH, COMMITS, "a note")
    assert (journal.last()[1], journal.note()) == (COMMITS, "a note")


def test_a_journal_of_an_older_release_has_no_note(journal):
    journal.path.parent.mkdir()
    journal.path.write_text('{"batch": {"app_id": "query", "version": 7}, "commits": []}')
    assert (journal.last()[1], journal.note()) == ([], "")


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_journal_has_no_note(journal, text):
    journal.write(BATCH, COMMITS)
    journal.path.write_text(text)
    with pytest.raises(LakeError, match="is damaged"):
        journal.note()


def test_a_batch_without_commits_is_noted_too(journal):
    journal.write(BATCH, [])
    assert journal.last() == (BATCH, [])


def test_a_journal_holds_the_last_batch_only(journal):
    journal.write(BATCH, COMMITS)
    journal.write(Batch("query", 8), [])
    assert journal.last() == (Batch("query", 8), [])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"commits": []}'])
def test_a_damaged_journal_is_an_error_and_no_empty_answer(journal, text):
    journal.write(BATCH, COMMITS)
    journal.path.write_text(text)
    with pytest.raises(LakeError, match="is damaged"):
        journal.last()


def test_a_batch_that_is_undone_is_noted_no_more(journal):
    journal.forget()
    journal.write(BATCH, COMMITS)
    journal.forget()
    assert journal.last() is None


def test_feeds_that_have_a_journal_of_a_stage_are_known_whether_or_not_anybody_declares_them(
    tmp_path,
):
    assert feeds_noted(tmp_path, "demux") == set()
    for feed, task in (("games", "demux"), ("old_games", "demux"), ("more", "redo")):
        journal_of(tmp_path, feed, task).write(BATCH, [])
    assert feeds_noted(tmp_path, "demux") == {"games", "old_games"}
