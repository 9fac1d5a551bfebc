from datetime import UTC, datetime

import pytest

from lake_assets.errors import LakeError
from lake_assets.model.erasures import Erasure, Erasures, ErasureState, Later, digest_of
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.state.united_erasures import merged, unite
from lake_assets.storage.local import LocalStore

AT = datetime(2026, 11, 28, tzinfo=UTC)
KEY = b"0" * 32
HERE = ("t", 0)


def one(id_, state=ErasureState.NOTED, key=KEY):
    digests = (digest_of(key, "who", id_),)
    return Erasure(
        id=id_, requested_at=AT, column="who", digests=digests, later=Later.DROP, state=state
    )


@pytest.fixture
def ledger(tmp_path):
    def make(name, *erasures, key=KEY, **places):
        made = ErasureLedger(LocalStore.at(tmp_path / name), tmp_path / "state")
        if erasures:
            made.take_key(key)
            made.write(Erasures(key, erasures))
        for id_, spans in places.items():
            made.record("games", id_, {HERE: spans})
        return made

    (tmp_path / "state").mkdir()
    return make


def test_each_holds_afterwards_and_of_one_that_both_have_the_one_further(ledger):
    a = ledger("a", one("x"), one("y", ErasureState.DONE))
    b = ledger("b", one("x", ErasureState.ENDED), one("y"), one("z"))
    states = {e.id: e.state for e in unite(a, [b]).every}
    assert states == {"x": ErasureState.ENDED, "y": ErasureState.DONE, "z": ErasureState.NOTED}
    assert {e.id: e.state for e in a.read().every} == states
    assert len(b.read().every) == 2 + 1


def test_rows_of_both_are_known(ledger):
    a = ledger("a", one("x"), x=[(0, 2)])
    unite(a, [ledger("b", one("x"), one("y"), x=[(1, 4), (7, 8)], y=[(9, 10)])])
    assert a.spans_of("games", "x") == {HERE: [(0, 4), (7, 8)]}
    assert a.spans_of("games", "y") == {HERE: [(9, 10)]}


def test_an_empty_one_takes_the_key(ledger):
    a = ledger("a")
    a.ready_key()  # somebody was about to note one
    unite(a, [ledger("b", one("x"))])
    assert a.read().key == KEY


def test_nothing_is_written_where_there_is_nothing(ledger, tmp_path):
    assert not unite(ledger("a"), [ledger("b")])
    assert not (tmp_path / "a").exists()


def test_another_key_is_refused_before_anything_is_written(ledger):
    a, other = ledger("a", one("x")), b"1" * 32
    b = ledger("b", one("y", key=other), key=other, y=[(0, 1)])
    with pytest.raises(LakeError, match="erasures of another key"):
        unite(a, [b])
    assert a.notes() == []
    assert [e.id for e in a.read().every] == ["x"]


def test_spans_that_touch_become_one():
    assert merged({HERE: [(0, 1), (5, 6)]}, {HERE: [(1, 2)]}) == {HERE: [(0, 2), (5, 6)]}
