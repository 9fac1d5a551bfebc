import shutil
from datetime import UTC, datetime

import pytest

from lake_assets.backup.kept_erasures import ledger_at
from lake_assets.backup.table_restore import table_restore
from lake_assets.delta.commit import RETENTION, Commit
from lake_assets.delta.data_files import active_files
from lake_assets.errors import LakeError
from lake_assets.model.erasures import Erasure, Erasures, ErasureState, Later, digest_of
from lake_assets_tests.backup.lakes import BRONZE, UNO, UNO_AGG
from lake_assets_tests.erasure.lakes import TOPIC, PeopledLake, gamers_in

ANN, BOB = "ann-7f3a-41c0", "bob-11aa-90ee"
HERE = (TOPIC, 0)


@pytest.fixture
def lake(settings):
    made = PeopledLake(settings)
    made.take(ANN, BOB)
    made.take(BOB)
    yield made
    made.committer.close()


def let_go(lake, table):
    """All rows leave a table for their age."""
    files = active_files(lake.committer.fresh(table))
    commit = Commit(table=table, files=(), removed=files, info={RETENTION: "1"})
    lake.committer.replace_files([commit])


def note(lake, value, state=ErasureState.DONE, *, cut=None, spans=()):
    ledger = ledger_at(lake.store, lake.settings)
    one = Erasure(
        id="one",
        requested_at=datetime.now(UTC),
        column="GAMER_ID",
        digests=(digest_of(ledger.ready_key(), "gamer_id", value),),
        later=Later.DROP if cut is None else Later.KEEP,
        cuts={"games": {HERE: cut or 0}},
        state=state,
    )
    if spans:
        ledger.record("games", "one", {HERE: [spans]})
    ledger.write(Erasures(ledger.ready_key(), (one,)))


def put_back(lake, table, version):
    with table_restore(lake.settings, table, version) as (planned, commit):
        if not planned.is_idle:
            commit()


def test_rows_that_were_erased_do_not_come_back(lake):
    shutil.copytree(lake.path(UNO), lake.settings.home / "then")
    lake.forget(ANN)
    for path in (lake.settings.home / "then").glob("*.parquet"):
        shutil.copy(path, lake.path(UNO))  # as if they had been in use
    with pytest.raises(LakeError, match="had rows erased in its version 3"):
        put_back(lake, UNO, 1)


@pytest.mark.parametrize("table", [UNO, BRONZE])
def test_nor_do_those_that_left_before_they_were_erased(lake, table):
    let_go(lake, table)
    note(lake, ANN, spans=(0, 1))
    with pytest.raises(LakeError, match="has rows then that are erased"):
        put_back(lake, table, 2)


def test_they_are_told_by_their_value_where_no_place_is_known(lake):
    let_go(lake, UNO)
    note(lake, ANN)
    with pytest.raises(LakeError, match="has rows then that are erased"):
        put_back(lake, UNO, 2)


@pytest.mark.parametrize("given", [{"value": "nobody"}, {"value": ANN, "cut": 0}])
def test_rows_of_others_and_later_ones_come_back(lake, given):
    let_go(lake, UNO)
    note(lake, **given)
    put_back(lake, UNO, 2)
    assert gamers_in(lake.store) == [ANN, BOB, BOB]


def test_gold_stays_away_while_an_erasure_is_under_way(lake):
    lake.refresh(ANN, BOB)
    lake.number += 1
    lake.refresh(BOB)
    note(lake, ANN, ErasureState.REMOVED)
    let_go(lake, UNO_AGG)
    with pytest.raises(LakeError, match="being erased"):
        put_back(lake, UNO_AGG, 1)
