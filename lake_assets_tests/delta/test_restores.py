import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.committer import Committer
from lake_assets.delta.relayout import lay_out
from lake_assets.delta.restores import held_offsets, is_restored
from lake_assets.delta.source_offsets import begun_transactions, offset_transactions
from lake_assets.delta.widen import widen
from lake_assets.errors import LakeError
from lake_assets.model.layouts import partition_columns
from lake_assets.model.origins import NamedSource
from lake_assets.model.tables import bronze_of
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.sample import gold_of, silver_of
from lake_assets_tests.table_logs import local_log

ROWS = pa.schema([("n", pa.int32())])
WIDER = pa.schema([("n", pa.int64())])
SILVER = silver_of("uno")


@pytest.fixture
def fill(committer, land):
    """Creates a table with three commits of a row each."""

    def go(table):
        committer.create({table: ROWS})
        for number in (1, 2, 3):
            committer.append([land(table, pa.table({"n": [number]}, ROWS))], Batch("demux", number))

    return go


def values(tmp_path, table):
    return DeltaTable(tmp_path / table.relative).to_pyarrow_table()["n"].to_pylist()


def test_a_restore_is_seen_until_a_commit_of_ours(fill, committer, land, tmp_path):
    fill(SILVER)
    folder = tmp_path / SILVER.relative
    assert not is_restored(local_log(folder), 3)
    DeltaTable(folder).restore(1)
    DeltaTable(folder).optimize.compact()
    newest = DeltaTable(folder).version()
    assert is_restored(local_log(folder), newest)
    assert not is_restored(local_log(folder), newest, after=newest)
    committer.accept_restores({SILVER: DeltaTable(folder)})
    committer.append([land(SILVER, pa.table({"n": [4]}, ROWS))], Batch("demux", 4))
    assert not is_restored(local_log(folder), newest + 1)


@pytest.mark.parametrize("is_known", [True, False])
def test_nothing_is_committed_after_a_restore(fill, committer, land, tmp_path, is_known):
    fill(SILVER)
    committing = committer if is_known else Committer(LocalStore.at(tmp_path), threads=1)
    DeltaTable(tmp_path / SILVER.relative).restore(1)
    row = land(SILVER, pa.table({"n": [4]}, ROWS))
    for commit in (
        lambda: committing.append([row], Batch("demux", 4)),
        lambda: committing.replace([row], ROWS),
        lambda: widen(committing, {SILVER: WIDER}),
    ):
        with pytest.raises(LakeError, match="was put back to an older version"):
            commit()
    committing.close()
    assert values(tmp_path, SILVER) == [1]


def test_a_table_that_is_laid_out_anew_stays_a_restored_one(fill, committer, tmp_path):
    """Until rows are derived again: whoever lays it out may die before."""
    fill(SILVER)
    folder = tmp_path / SILVER.relative
    DeltaTable(folder).restore(1)
    by_n = partition_columns({"n": "n"})
    with pytest.raises(LakeError, match="was put back to an older version"):
        lay_out(committer, SILVER, by_n)
    committer.accept_restores({SILVER: DeltaTable(folder)})
    lay_out(committer, SILVER, by_n)
    handle = DeltaTable(folder)
    assert handle.metadata().partition_columns == ["n"]
    assert is_restored(local_log(folder), handle.version())
    later = Committer(LocalStore.at(tmp_path), threads=1)
    with pytest.raises(LakeError, match="was put back to an older version"):
        later.append([Commit(table=SILVER, files=())], Batch("demux", 4))
    later.accept_restores({SILVER: handle})
    later.append([Commit(table=SILVER, files=())], Batch("demux", 4))
    later.close()
    assert not is_restored(local_log(folder), handle.version() + 1)


def test_a_layout_alone_makes_no_table_a_restored_one(fill, committer, tmp_path):
    fill(SILVER)
    lay_out(committer, SILVER, partition_columns({"n": "n"}))
    folder = tmp_path / SILVER.relative
    assert not is_restored(local_log(folder), DeltaTable(folder).version())


def test_gold_may_be_restored(fill, committer, land, tmp_path):
    gold = gold_of("uno", "agg")
    fill(gold)
    DeltaTable(tmp_path / gold.relative).restore(1)
    committer.replace([land(gold, pa.table({"n": [4]}, ROWS))], ROWS)
    assert values(tmp_path, gold) == [4]


SOURCE = NamedSource(kind="kafka", name="t", origin=KAFKA)


def test_a_table_that_was_restored_is_as_far_as_it_was_then(committer, tmp_path):
    table = bronze_of("games")
    committer.create({table: ROWS})
    reached = {("t", 0): 5, ("t", 1): 7}
    begin = [*offset_transactions("kafka", reached, {}), *begun_transactions("kafka", reached)]
    committer.append([Commit(table=table, files=(), transactions=begin)], Batch("ingest", 1))
    later = {("t", 0): 9, ("t", 1): 7, ("t", 2): 3}
    marks = offset_transactions("kafka", later, reached)
    committer.append([Commit(table=table, files=(), transactions=marks)], Batch("ingest", 2))
    handle = DeltaTable(tmp_path / table.relative)
    assert held_offsets(local_log(tmp_path / table.relative), handle, [SOURCE]) == later
    for version in (1, 0):
        handle.restore(version)
        handle = DeltaTable(tmp_path / table.relative)
        assert held_offsets(local_log(tmp_path / table.relative), handle, [SOURCE]) == {
            **reached,
            ("t", 2): 0,
        }
