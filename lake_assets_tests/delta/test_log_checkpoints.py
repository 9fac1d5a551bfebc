from dataclasses import replace
from itertools import pairwise

import pytest

from lake_assets.delta.commit import Batch
from lake_assets.delta.committer import Committer
from lake_assets.delta.log_checkpoints import (
    CHECKPOINT_EVERY,
    Checkpoints,
    is_checkpoint_due,
)
from lake_assets.delta.log_tail import files_of_checkpoint
from lake_assets.errors import LakeError
from lake_assets.storage.local import LocalStore
from lake_assets_tests.delta.test_append import SCHEMA, rows, stored
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import local_log

UNO = silver_of("uno")


@pytest.mark.parametrize(
    ("files", "every"), [(0, 40), (799, 40), (800, 80), (1600, 160), (10**6, 160)]
)
def test_each_batch_checkpoints_its_share_of_many_tables_the_rarer_the_more_files(files, every):
    tables = [silver_of(f"game_{number:03d}") for number in range(1000)]
    due = [
        sum(is_checkpoint_due(t, version, files) for t in tables)
        for version in range(1, 4 * every + 1)
    ]
    assert sum(due[:every]) == len(tables)
    assert max(due) <= 3 * len(tables) / every


def test_versions_that_are_due_with_many_files_are_due_with_few():
    due = {
        files: {v for v in range(1, 999) if is_checkpoint_due(UNO, v, files)} for files in (0, 999)
    }
    assert due[999] < due[0]


def test_a_long_log_is_checkpointed_as_its_files_ask_for(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    for start in range(0, 330, 10):
        one = Committer(LocalStore.at(tmp_path), threads=1)
        for number in range(start, start + 10):
            landed = [land(UNO, rows(number)) for _ in range(5)]
            files = [file for commit in landed for file in commit.files]
            one.append([replace(landed[0], files=files)], Batch("query", number))
        one.close()
    log = tmp_path / UNO.relative / "_delta_log"
    found = sorted(int(path.name.split(".")[0]) for path in log.glob("*.checkpoint.parquet"))
    steps = {after - before for before, after in pairwise(found)}
    assert steps == {40, 80}
    # Five files a commit, and the first made none.
    assert files_of_checkpoint(local_log(tmp_path / UNO.relative)) == 5 * found[-1]
    assert len(stored(tmp_path, UNO)) == 5 * 330


def refuse(*_):
    raise OSError("no space left on device")


def test_a_checkpoint_that_fails_is_told_of_at_the_end(committer, land, monkeypatch):
    monkeypatch.setattr("lake_assets.delta.log_checkpoints._checkpoint", refuse)
    committer.create({UNO: SCHEMA})
    due = next(
        version for version in range(1, CHECKPOINT_EVERY + 1) if is_checkpoint_due(UNO, version)
    )
    for number in range(due):
        committer.append([land(UNO, rows(number))], Batch("query", number))
    with pytest.raises(LakeError, match="no space left"):
        committer.close()


def test_a_checkpoint_that_fails_is_told_of_by_a_later_commit(
    tmp_path, committer, land, monkeypatch
):
    monkeypatch.setattr("lake_assets.delta.log_checkpoints._checkpoint", refuse)
    committer.create({UNO: SCHEMA})

    def append_many():
        for number in range(1000):
            committer.append([land(UNO, rows(number))], Batch("query", number))

    with pytest.raises(LakeError, match="no space left"):
        append_many()
    assert stored(tmp_path, UNO)
    monkeypatch.undo()
    committer.append([land(UNO, rows(1))], Batch("another query", 1))


def test_a_table_that_is_gone_needs_no_checkpoint(tmp_path):
    checkpoints = Checkpoints(LocalStore.at(tmp_path))
    for version in range(1, CHECKPOINT_EVERY + 1):
        checkpoints.after(UNO, version)
    checkpoints.close()


def test_a_door_that_has_settled_has_written_its_checkpoints(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    for number in range(CHECKPOINT_EVERY + 2):
        committer.append([land(UNO, rows(number))], Batch("query", number))
    committer.settle()
    assert list((tmp_path / UNO.relative / "_delta_log").glob("*.checkpoint.parquet"))
