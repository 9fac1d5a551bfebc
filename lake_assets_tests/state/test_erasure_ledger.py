"""A ledger that is gone, or whose process died while it was made."""

import shutil
from datetime import UTC, datetime

import pytest

from lake_assets.errors import LakeError
from lake_assets.model.erasures import Erasure, Erasures, Later
from lake_assets.model.tables import erased_of
from lake_assets.silver.erasing import ensure_none_was
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.state.united_erasures import unite
from lake_assets.storage.local import LocalStore
from lake_assets_tests.erasure.lakes import PeopledLake, forget
from lake_assets_tests.sample import GAMES

ONE = Erasure(
    id="one",
    requested_at=datetime(2026, 11, 28, tzinfo=UTC),
    column="gamer_id",
    digests=("aa",),
    later=Later.DROP,
)
PLACES = {("t", 0): [(0, 1)]}


@pytest.fixture
def ledger(tmp_path):
    return ledger_in(tmp_path, "lake")


def ledger_in(folder, name):
    (folder / name).mkdir()
    return ErasureLedger(LocalStore.at(folder / name), folder)


class KilledError(BaseException):
    """As a kill is: nothing catches it."""


class DyingStore:
    """A store whose process dies before one of its writes."""

    def __init__(self, store, writes):
        self.store, self.left = store, writes

    def __getattr__(self, name):
        if name in {"open_for_writing", "put_if_absent"}:
            if not self.left:
                raise KilledError
            self.left -= 1
        return getattr(self.store, name)


def dying(ledger, writes):
    return ErasureLedger(DyingStore(ledger.lake, writes), ledger.state_dir)


def noted(ledger):
    ledger.write(Erasures(ledger.ready_key(), (ONE,)))
    ledger.record("games", "one", PLACES)


def folder_of(ledger):
    return ledger.file.as_path().parent


@pytest.mark.parametrize("left", ["key", "rows"])
def test_one_that_is_gone_is_not_that_of_nobody(ledger, left):
    noted(ledger)
    for path in folder_of(ledger).iterdir():
        if path.name != left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for use in (ledger.read, ledger.begin):
        with pytest.raises(LakeError, match="is gone"):
            use()


@pytest.mark.parametrize("writes", range(4))
def test_who_dies_while_it_is_made_leaves_one_that_can_be_used(ledger, writes):
    with pytest.raises(KilledError):
        noted(dying(ledger, writes))
    assert len(ledger.read().every) == (writes == 3)
    noted(ledger)
    assert ledger.read().every == (ONE,)


@pytest.mark.parametrize("writes", range(4))
def test_who_dies_while_ledgers_are_united_leaves_one_that_can_be_used(ledger, tmp_path, writes):
    noted(ledger)
    other = ledger_in(tmp_path, "place")
    with pytest.raises(KilledError):
        unite(dying(other, writes), [ledger])
    unite(other, [ledger])
    assert other.read() == ledger.read()
    assert other.spans("games") == PLACES


def test_a_lake_with_erased_rows_and_no_ledger_is_refused(settings):
    lake = PeopledLake(settings)
    with open_lake(settings) as context:
        ensure_none_was(context, GAMES)
    lake.create(erased_of("games"))
    lake.committer.close()
    with open_lake(settings) as context, pytest.raises(LakeError, match="erased, not whose"):
        ensure_none_was(context, GAMES)
    with pytest.raises(LakeError, match="delete that table"):
        forget(settings, "ann")
