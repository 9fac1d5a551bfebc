import os
import time

import pytest

from lake_assets.delta.log_checkpoints import CHECKPOINT_EVERY
from lake_assets.delta.log_cleanup import delete_old_log, old_log, version_at
from lake_assets.delta.log_tail import newest_version
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets_tests.maintenance.lakes import WrittenLake
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import commit_file

UNO = silver_of("uno")
LAST = 4 * CHECKPOINT_EVERY
"""Version of the table."""


@pytest.fixture
def lake(settings):
    made = WrittenLake(settings, "games")
    made.create(UNO, "uno")
    made.append(UNO, LAST)
    yield made
    made.committer.close()


@pytest.fixture
def log(lake):
    return log_of(lake.store, UNO)


def checkpoints(lake):
    return [int(n.split(".")[0]) for n in lake.log(UNO) if n.endswith(".checkpoint.parquet")]


def test_the_version_of_a_time_is_the_newest_that_was_there(lake, log):
    lake.age(UNO, 1)
    at = commit_file(lake.path(UNO), LAST).stat().st_mtime
    lake.append(UNO, 5)
    now = time.time()
    assert version_at(log, at + 1, now) == LAST
    assert version_at(log, at + 1e9, now + 1e9) == LAST + 5
    assert version_at(log, 0, now) == 0


def test_a_commit_from_a_clock_that_was_ahead_is_as_old_as_the_next(lake, log):
    lake.age(UNO, 3)
    for version in (3, 4, LAST):
        os.utime(commit_file(lake.path(UNO), version), (time.time() + 1e7, time.time() + 1e7))
    now = time.time()
    assert version_at(log, now - 3600, now) == LAST - 1
    os.utime(commit_file(lake.path(UNO), 4), (now - 60, now - 60))
    assert version_at(log, now - 3600, now) == 2


def test_a_log_begins_with_a_checkpoint_then(lake, log):
    old = old_log(log, log.open(), LAST - 1, batches=0)
    kept = max(version for version in checkpoints(lake) if version <= LAST - 1)
    assert old.upto == kept
    assert old.files == tuple(n for n in lake.log(UNO) if n < f"{kept:020}" and n[0] == "0")
    delete_old_log(log, old)
    assert lake.log(UNO)[0].startswith(f"{kept:020}.")
    assert newest_version(log) == LAST
    assert lake.numbers(UNO) == list(range(1, LAST + 1))
    assert old_log(log, log.open(), LAST - 1, batches=0) is None


def test_the_newest_batches_stay(log):
    few, many = (old_log(log, log.open(), LAST, batches=batches) for batches in (0, 60))
    assert few.upto > many.upto
    assert old_log(log, log.open(), LAST, batches=1000) is None


def test_a_checkpoint_that_is_noted_late_hides_no_version(lake, log):
    """Another process's, which began before."""
    first = checkpoints(lake)[0]
    delete_old_log(log, old_log(log, log.open(), LAST, batches=0))
    noted = lake.path(UNO) / "_delta_log" / "_last_checkpoint"
    noted.write_text(f'{{"version": {first}, "size": 1}}')
    assert newest_version(log) == LAST
    assert old_log(log, log.open(), LAST, batches=0) is None


def test_a_damaged_checkpoint_is_no_reason_to_delete_its_commits(lake, log):
    old = old_log(log, log.open(), LAST, batches=0)
    (lake.path(UNO) / "_delta_log" / f"{old.upto:020}.checkpoint.parquet").write_bytes(b"torn")
    before = lake.log(UNO)
    with pytest.raises(LakeError, match="is damaged"):
        delete_old_log(log, old)
    assert lake.log(UNO) == before


def test_a_log_without_a_checkpoint_stays(lake, log):
    for path in (lake.path(UNO) / "_delta_log").glob("*checkpoint*"):
        path.unlink()
    assert old_log(log, log.open(), LAST, batches=0) is None
