import pytest

from lake_assets.logs.entries import entry_of
from lake_assets.logs.spool import Spool
from lake_assets_tests.logs.reports import AT, demuxed, ingested
from lake_assets_tests.sample import GAMES


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


def entry(batch):
    return entry_of(demuxed(batch), GAMES, AT)


def test_an_empty_spool_gives_nothing_and_leaves_no_trace(folder):
    assert Spool(folder).take() == []
    assert not folder.exists()


def test_entries_stay_until_they_are_forgotten(folder):
    spool = Spool(folder)
    spool.add(entry(1))
    assert spool.take() == spool.take() == [entry(1)]
    spool.forget()
    assert (spool.take(), list(folder.iterdir())) == ([], [])


def test_what_comes_after_the_taking_is_not_forgotten_with_it(folder):
    spool = Spool(folder)
    spool.add(entry(1))
    spool.take()
    spool.add(entry(2))
    spool.forget()
    assert spool.take() == [entry(2)]


def test_what_a_dead_process_left_comes_first(folder):
    dead = Spool(folder)
    dead.add(entry(1))
    dead.take()
    dead.add(entry(2))
    heir = Spool(folder)
    heir.add(entry(3))
    assert heir.take() == [entry(1), entry(2), entry(3)]


def test_a_line_that_a_kill_cut_is_left_out(folder):
    Spool(folder).add(entry(1))
    (path,) = folder.iterdir()
    whole = path.read_text()
    path.write_text(whole + whole[: len(whole) // 2])
    assert Spool(folder).take() == [entry(1)]


def test_a_damaged_line_does_not_hold_up_the_others(folder):
    Spool(folder).add(entry(1))
    (path,) = folder.iterdir()
    path.write_bytes(b"\0\0\xff\n[]\n{}\n" + path.read_bytes())
    assert Spool(folder).take() == [entry(1)]


def test_offsets_survive_the_file(folder):
    spool = Spool(folder)
    spool.add(entry_of(ingested(1), GAMES, AT))
    (found,) = spool.take()
    assert found.rows["stream_log"][0]["offsets_to"] == [[0, 10]]
