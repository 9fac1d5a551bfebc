"""What commits of a writer come to that sleeps and was taken for dead, on a real server."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import uuid4

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.fences import fence_tables
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError, LeaseLostError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.data_file import write_file
from lake_assets.state.lease import LakeLease
from lake_assets.storage.fenced import FencedStore
from lake_assets_tests.sample import silver_of

UNO, CHESS, NEW = silver_of("uno"), silver_of("chess"), silver_of("new")
SCHEMA = pa.schema([("n", pa.int64())])


@pytest.fixture
def s3(either_s3):
    return either_s3


@dataclass(frozen=True, kw_only=True)
class Sleepy(LakeLease):
    """A lease whose holder falls asleep right when it has made sure of it."""

    dreams: list[Callable[[], object]] = field(default_factory=list)

    def ensure(self) -> None:
        super().ensure()
        if self.dreams:
            self.dreams.pop()()


class Machine:
    """A writer of the lake, on a machine of its own."""

    def __init__(self, held: ExitStack, lease: Sleepy) -> None:
        self.lease = held.enter_context(lease.held(lambda _: False))
        self.store = FencedStore(lease.root, lease.options, self.lease)
        self.committer = Committer(self.store, threads=2)
        held.callback(self.committer.close)

    def append(self, table, number: int, batch: int) -> None:
        rows = pa.table({"n": [number]}, SCHEMA)
        file = DataFile(**write_file(self.store, rows, log_of(self.store, table).folder))
        self.committer.append([Commit(table=table, files=[file])], Batch("test", batch))

    def rows(self, table) -> list[int]:
        handle = log_of(self.store, table).open()
        return sorted(handle.to_pyarrow_table()["n"].to_pylist())


class Lake:
    def __init__(self, s3, tmp_path, held: ExitStack) -> None:
        bucket = f"bucket-{uuid4()}"
        s3.make_bucket(bucket)
        self.root, self.options = LakeUri.parse(f"s3://{bucket}/lake"), s3.options
        self.tmp_path, self.held = tmp_path, held
        self.dreams: list[Callable[[], object]] = []
        self.first = self.machine("one", self.dreams)
        self.first.committer.create({UNO: SCHEMA, CHESS: SCHEMA})
        self.first.append(UNO, 1, 1)
        self.first.append(CHESS, 1, 1)
        self.second: Machine | None = None

    def machine(self, name: str, dreams: list[Callable[[], object]]) -> Machine:
        state = self.tmp_path / name
        place = {"root": self.root, "options": self.options, "state_dir": state}
        return Machine(self.held, Sleepy(**place, lasts_s=1000.0, dreams=dreams))

    def is_taken_over(self) -> None:
        """Another machine takes the lease and fences, as if it had run out."""
        self.first.lease.give_back()
        self.second = self.machine("two", [])
        fence_tables(self.second.store, self.second.lease.token)


@pytest.fixture
def lake(s3, tmp_path):
    with ExitStack() as held:
        yield Lake(s3, tmp_path, held)


def test_a_commit_of_one_that_sleeps_behind_its_last_look_at_the_lease_is_refused(lake):
    lake.dreams.append(lake.is_taken_over)
    with pytest.raises(LeaseLostError, match="state folder"):
        lake.first.append(CHESS, 9, 2)
    assert (lake.second.rows(UNO), lake.second.rows(CHESS)) == ([1], [1])
    lake.second.append(CHESS, 2, 2)
    assert lake.second.rows(CHESS) == [1, 2]


def test_one_that_sleeps_before_that_is_told_so(lake):
    lake.is_taken_over()
    with pytest.raises(LeaseLostError):
        lake.first.append(CHESS, 9, 2)
    assert lake.second.rows(CHESS) == [1]


def test_a_table_that_it_makes_gets_no_rows(lake):
    lake.dreams.append(lake.is_taken_over)
    with pytest.raises(LeaseLostError):
        lake.first.committer.create({NEW: SCHEMA})
    lake.second.committer.create({NEW: SCHEMA})
    lake.second.append(NEW, 2, 2)
    assert lake.second.rows(NEW) == [2]


@pytest.mark.parametrize("what", ["delete", "add_columns"])
def test_what_deltalake_does_for_it_is_refused(lake, what):
    lake.first.append(UNO, 2, 2)
    lake.dreams.append(lake.is_taken_over)
    more = SCHEMA.append(pa.field("more", pa.string()))
    act = {
        "delete": lambda: lake.first.committer.delete(UNO, "n = 1"),
        "add_columns": lambda: lake.first.committer.add_columns({UNO: more}),
    }[what]
    with pytest.raises(LakeError):
        act()
    assert lake.second.rows(UNO) == [1, 2]
    assert log_of(lake.second.store, UNO).open().history(1)[0]["operation"] == "FENCE"


def test_files_that_it_joins_in_its_sleep_have_the_same_rows(lake):
    lake.first.append(UNO, 2, 2)
    lake.dreams.append(lake.is_taken_over)
    lake.first.committer.compact(UNO)  # deltalake tries again, whatever it is told
    lake.second.append(UNO, 3, 3)
    assert lake.second.rows(UNO) == [1, 2, 3]


def test_fences_are_read_by_everyone_as_nothing(lake):
    before = log_of(lake.first.store, UNO).open().version()
    lake.is_taken_over()
    handle = log_of(lake.second.store, UNO).open()
    assert handle.version() == before + 1
    assert handle.history(1)[0]["operation"] == "FENCE"
    assert lake.second.rows(UNO) == [1]


def test_a_fence_has_a_time_after_the_last_commit_s_where_commits_have_their_own(lake):
    """As tables with `inCommitTimestamp` ask for it, whatever this machine's clock says."""
    log, ahead = log_of(lake.first.store, UNO), 10**13
    assert log.put(2, [{"commitInfo": {"operation": "WRITE", "inCommitTimestamp": ahead}}])
    assert fence_tables(lake.first.store, 1) == 2
    fence = json.loads(log.commit(3))["commitInfo"]
    assert (fence["operation"], fence["inCommitTimestamp"]) == ("FENCE", ahead + 1)
    assert (
        "inCommitTimestamp"
        not in json.loads(log_of(lake.first.store, CHESS).commit(2))["commitInfo"]
    )


def test_fences_go_on_over_commits_that_come_meanwhile(lake):
    ended = threading.Event()

    def append() -> None:
        number = 10
        while not ended.wait(0.1):  # streams commit once a second at most
            lake.first.append(UNO, number, number)
            number += 1

    with ThreadPoolExecutor(1) as pool:
        appending = pool.submit(append)
        try:
            assert fence_tables(lake.first.store, 1) == 2
        finally:
            ended.set()
        appending.result()
    fences = [
        entry
        for entry in log_of(lake.first.store, UNO).open().history()
        if entry["operation"] == "FENCE"
    ]
    assert len(fences) == 1
