from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest

from lake_assets.errors import LakeError
from lake_assets.model.checks import Severity
from lake_assets.model.failures import Failing
from lake_assets.state.failing_expectations import (
    Verdict,
    failures_of_tables,
    note_verdicts,
    read_failures,
)

AT = datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC)
LATER = AT + timedelta(minutes=5)


def bad(key="uno", name="known", *, severity=Severity.WARN, version=None, words="why"):
    return Verdict(key=key, name=name, severity=severity, words=words, version=version)


def good(key="uno", name="known"):
    return Verdict(key=key, name=name, severity=None)


def test_at_first_nothing_fails(tmp_path):
    assert read_failures(tmp_path, "games") == {}


def test_a_failure_is_kept_until_it_passes(tmp_path):
    found = note_verdicts(tmp_path, "games", [bad(version=3)], AT)
    expected = Failing(since=AT, severity=Severity.WARN, words="why", version=3)
    assert found == read_failures(tmp_path, "games") == {("uno", "known"): expected}
    assert note_verdicts(tmp_path, "games", [good()], LATER) == {}
    assert read_failures(tmp_path, "games") == {}


def test_a_failure_that_lasts_fails_since_it_began(tmp_path):
    note_verdicts(tmp_path, "games", [bad()], AT)
    worse = bad(severity=Severity.ERROR, words="worse")
    (failing,) = note_verdicts(tmp_path, "games", [worse], LATER).values()
    assert (failing.since, failing.severity, failing.words) == (AT, Severity.ERROR, "worse")


def test_a_failure_after_a_success_begins_anew(tmp_path):
    for verdict, at in ((bad(), AT), (good(), AT), (bad(), LATER)):
        found = note_verdicts(tmp_path, "games", [verdict], at)
    assert found[("uno", "known")].since == LATER


def test_what_is_not_mentioned_stays(tmp_path):
    note_verdicts(tmp_path, "games", [bad(), bad("poker"), bad(name="fresh")], AT)
    found = note_verdicts(tmp_path, "games", [good()], LATER)
    assert set(found) == {("poker", "known"), ("uno", "fresh")}


def test_feeds_do_not_share(tmp_path):
    note_verdicts(tmp_path, "games", [bad()], AT)
    assert read_failures(tmp_path, "others") == {}


def test_nothing_new_writes_nothing(tmp_path):
    note_verdicts(tmp_path, "games", [bad()], AT)
    (path,) = (tmp_path / "failing").glob("*.json")
    before = path.stat().st_ino
    note_verdicts(tmp_path, "games", [bad(), good("poker")], LATER)
    assert path.stat().st_ino == before


def test_changes_at_the_same_time_are_all_kept(tmp_path):
    def note(key):
        note_verdicts(tmp_path, "games", [bad(key)], AT)

    threads = [Thread(target=note, args=(f"game_{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_failures(tmp_path, "games")) == 8


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"key": "uno"}]', '{"a": 1}'])
def test_a_damaged_file_is_named(tmp_path, text):
    note_verdicts(tmp_path, "games", [bad()], AT)
    (path,) = (tmp_path / "failing").glob("*.json")
    path.write_text(text)
    with pytest.raises(LakeError, match=r"games\.json: is damaged .* Delete it"):
        read_failures(tmp_path, "games")


def test_of_feeds_that_fill_the_same_tables_the_worst_holds(tmp_path):
    note_verdicts(tmp_path, "games", [bad(), bad("uno", "timed")], AT)
    note_verdicts(tmp_path, "twin", [bad(severity=Severity.ERROR), bad("chess")], LATER)
    found = failures_of_tables(tmp_path, ["games", "twin"])
    assert {key: failing.severity for key, failing in found.items()} == {
        ("uno", "known"): Severity.ERROR,
        ("uno", "timed"): Severity.WARN,
        ("chess", "known"): Severity.WARN,
    }
    assert failures_of_tables(tmp_path, ["twin", "games"]) == found
    note_verdicts(tmp_path, "twin", [good()], LATER)
    assert failures_of_tables(tmp_path, ["games", "twin"])["uno", "known"].since == AT
