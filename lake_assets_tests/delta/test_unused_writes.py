"""What is rewritten is there whatever becomes of the commit: made, refused, or nobody knows."""

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import join_files
from lake_assets.delta.data_files import active_files
from lake_assets.delta.old_rows import OldRows
from lake_assets.delta.relayout import lay_out
from lake_assets.delta.table_log import log_of
from lake_assets.delta.widen import widen
from lake_assets.errors import LakeError
from lake_assets.model.layouts import partition_columns
from lake_assets.parquet.data_file import write_file
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")
NOW = datetime.now(UTC)
COLUMNS = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])


class LossyStore(LocalStore):
    """A store whose answer to a commit may be lost: the file is there, or was never asked for."""

    fault = None
    """Called instead of the put, which is given."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.synced = set()

    def sync(self, file):
        self.synced.add(file.name)
        super().sync(file)

    def put_if_absent(self, file, content):
        if self.fault is None:
            return super().put_if_absent(file, content)
        return self.fault(lambda: LocalStore.put_if_absent(self, file, content))


def lose_answer(put):
    put()
    raise LakeError("the store", "did not answer", "Try again")


def interrupt(put):
    put()
    raise KeyboardInterrupt


def never_ask(put):  # noqa: ARG001 - that is it
    raise LakeError("the store", "did not answer", "Try again")


def be_second(put):  # noqa: ARG001 - another one's commit is there
    return False


@pytest.fixture
def committer(tmp_path):
    made = Committer(LossyStore.at(tmp_path), threads=1)
    made.create({UNO: COLUMNS})
    for number in range(3):
        rows = [
            {"n": 2 * number, "at": NOW - timedelta(days=number)},
            {"n": 2 * number + 1, "at": NOW - timedelta(days=30)},
        ]
        data = pa.Table.from_pylist(rows, schema=COLUMNS)
        file = DataFile(**write_file(made.store, data, log_of(made.store, UNO).folder))
        made.append([Commit(table=UNO, files=[file])], Batch("stream", number))
    yield made
    made.close()


def lay_out_by_day(committer):
    lay_out(committer, UNO, partition_columns({"day": "date(at)"}))


def join(committer):
    join_files(committer, UNO, active_files(committer.fresh(UNO)))


def let_old_rows_go(committer):
    old = OldRows(table=UNO, columns=["at"], before=NOW - timedelta(days=20))
    old.delete(committer, [], active_files(committer.fresh(UNO)))


WAYS = {
    "lay out": (lay_out_by_day, range(6)),
    "join": (join, range(6)),
    "let old rows go": (let_old_rows_go, range(0, 6, 2)),
}
"""By name, what rewrites the table, and the rows that are there then."""

ways = pytest.mark.parametrize(("act", "left"), WAYS.values(), ids=WAYS)


def numbers(tmp_path):
    rows = DeltaTable(tmp_path / UNO.relative).to_pyarrow_table()
    return sorted(rows["n"].to_pylist())


def orphans(tmp_path):
    folder = tmp_path / UNO.relative
    there = {path.name for path in folder.glob("*.parquet")}
    versions = range(DeltaTable(folder).version() + 1)
    return there - {f.path for v in versions for f in active_files(DeltaTable(folder, version=v))}


@ways
@pytest.mark.parametrize(("fault", "error"), [(lose_answer, LakeError), (interrupt, BaseException)])
def test_a_commit_that_was_made_has_its_files_though_nobody_was_told(
    committer, tmp_path, act, left, fault, error
):
    committer.store.fault = fault
    with pytest.raises(error):
        act(committer)
    assert numbers(tmp_path) == [*left]
    committer.store.fault = None
    act(committer)  # and again
    assert numbers(tmp_path) == [*left]


@ways
def test_a_commit_that_may_have_been_made_leaves_files_that_no_reader_sees(
    committer, tmp_path, act, left
):
    committer.store.fault = never_ask
    with pytest.raises(LakeError, match="did not answer"):
        act(committer)
    assert numbers(tmp_path) == [*range(6)]
    assert orphans(tmp_path)
    committer.store.fault = None
    act(committer)
    assert numbers(tmp_path) == [*left]


@pytest.mark.parametrize("act", [lay_out_by_day, let_old_rows_go])
def test_a_commit_that_was_refused_leaves_nothing(committer, tmp_path, act):
    committer.store.fault = be_second
    with pytest.raises(LakeError, match="another writer"):
        act(committer)
    assert numbers(tmp_path) == [*range(6)]
    assert orphans(tmp_path) == set()


def widen_n(committer):
    widen(committer, {UNO: pa.schema([("n", pa.decimal128(20, 0))])})


@pytest.mark.parametrize("act", [*(act for act, _ in WAYS.values()), widen_n])
def test_what_stands_for_files_that_will_be_deleted_is_on_the_disk(committer, tmp_path, act):
    """Also where the settings ask for none of it."""
    before = {file.path for file in active_files(committer.fresh(UNO))}
    committer.store.synced.clear()
    act(committer)
    new = {file.path for file in active_files(DeltaTable(tmp_path / UNO.relative))} - before
    assert new
    assert new <= committer.store.synced


KILLED = """
import os, signal, sys
from pathlib import Path
from lake_assets.delta.committer import Committer
from lake_assets_tests.delta.test_unused_writes import UNO, WAYS, LossyStore

def die(put):
    if sys.argv[2] == "after":
        put()
    os.kill(os.getpid(), signal.SIGKILL)

committer = Committer(LossyStore.at(Path(sys.argv[1])), threads=1)
if sys.argv[2] == "in":
    os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
else:
    committer.store.fault = die
WAYS[sys.argv[3]][0](committer)
"""
"""Dies before the log's entry is put, while it is, or right after."""


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("point", ["before", "in", "after"])
def test_a_process_that_is_killed_at_its_commit_loses_and_doubles_nothing(
    committer, tmp_path, name, point
):
    args = [sys.executable, "-c", KILLED, str(tmp_path), point, name]
    killed = subprocess.run(args, check=False, capture_output=True, timeout=120)  # noqa: S603
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    act, left = WAYS[name]
    assert numbers(tmp_path) == [*(left if point == "after" else range(6))]
    act(committer)
    assert numbers(tmp_path) == [*left]
