"""What a lake's files and tables come to where a store that speaks S3 fails, on two of them."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.fences import fence_tables
from lake_assets.delta.log_history import open_table
from lake_assets.delta.log_tail import newest_version
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError, StoreAwayError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.data_file import write_file
from lake_assets.storage.objects import ObjectStore
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")
SCHEMA = pa.schema([("n", pa.int64())])
PART = 9_000_000
"""Bytes of which a part of an upload is made, and a bit of the next."""

BRIEF = {"max_retries": "2", "retry_timeout": "4s", "timeout": "2s"}


@pytest.fixture
def s3(either_s3):
    yield either_s3
    either_s3.forgive()


@pytest.fixture
def root(bucket):
    return LakeUri.parse(f"s3://{bucket}/lake")


@pytest.fixture
def store(s3, root):
    return ObjectStore(root, s3.options)


@pytest.fixture
def brief(s3, root):
    """The same store for one that is less patient."""
    return ObjectStore(root, {**s3.options, **BRIEF})


@pytest.fixture
def writer(store):
    """Makes writers of the lake, each of a process of its own as far as tables are concerned."""
    with ExitStack() as open_:

        def made(of=store) -> Committer:
            committer = Committer(of, threads=2)
            open_.callback(committer.close)
            return committer

        yield made


def append(committer: Committer, number: int, app: str = "test") -> None:
    store = committer.store
    rows = pa.table({"n": [number]}, SCHEMA)
    file = DataFile(**write_file(store, rows, log_of(store, UNO).folder))
    committer.append([Commit(table=UNO, files=[file])], Batch(app, number))


def rows_in(store) -> list[int]:
    return sorted(open_table(store, UNO).to_pyarrow_table()["n"].to_pylist())


def test_two_writers_that_race_for_each_version_lose_and_double_nothing(store, writer):
    both = [writer(), writer()]
    both[0].create({UNO: SCHEMA})

    def go_on(number: int) -> None:
        for n in range(10):
            append(both[number], 100 * number + n, f"writer {number}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(go_on, range(2)))
    assert rows_in(store) == [*range(10), *range(100, 110)]
    assert newest_version(log_of(store, UNO)) == 20


@pytest.mark.parametrize("does", ["torn", "lost"])
def test_a_commit_whose_connection_ends_is_there_once(s3, store, writer, does):
    committer = writer()
    committer.create({UNO: SCHEMA})
    for number in range(3):
        s3.fail("PUT", "_delta_log", does, times=1 + number)
        append(committer, number)
    assert rows_in(store) == [0, 1, 2]
    assert newest_version(log_of(store, UNO)) == 3


def test_a_batch_that_failed_half_comes_again_whole(s3, store, brief, writer):
    committer = writer(brief)
    committer.create({UNO: SCHEMA})
    s3.fail("PUT", "_delta_log", "lost")
    with pytest.raises(LakeError):
        append(committer, 1)
    s3.forgive()
    append(writer(), 1)
    append(committer, 2)
    assert rows_in(store) == [1, 2]


@pytest.mark.parametrize("does", ["torn", "lost", "InternalError"])
@pytest.mark.parametrize("what", ["partNumber=", "uploads", "uploadId="])
def test_an_upload_that_is_cut_is_whole_or_not_there(s3, store, brief, root, what, does):
    method = "PUT" if what == "partNumber=" else "POST"
    for times in (1, 10**9):
        file = root / f"{what}-{times}"
        if does == "InternalError":
            s3.refuse(method, f"{file.name}?{what}", does, status=500, times=times)
        else:
            s3.fail(method, f"{file.name}?{what}", does, times=times)
        is_told = writes(brief if times > 1 else store, file)
        s3.forgive()
        stat = store.stat(file)
        assert stat is None or stat.size == 2 * PART
        if is_told:
            assert stat is not None
        if times > 1 and (does != "lost" or what != "uploadId="):
            assert stat is None
        assert times > 1 or is_told or does == "lost"


def writes(store: ObjectStore, file: LakeUri) -> bool:
    try:
        with store.open_for_writing(file) as stream:
            stream.write(bytes(PART))
            stream.write(bytes(PART))
    except (LakeError, FileNotFoundError):
        return False
    return True


def test_a_store_that_is_asked_too_often_is_asked_again_and_told_after_a_while(
    s3, store, brief, writer
):
    committer, patient = writer(brief), writer()
    committer.create({UNO: SCHEMA})
    s3.refuse("*", "/lake/", "SlowDown", status=503, times=4)
    append(patient, 1)
    s3.refuse("*", "prefix=", "SlowDown", status=503, times=2)
    assert rows_in(store) == [1]  # by deltalake
    s3.refuse("*", "/lake/", "SlowDown", status=503)
    with pytest.raises(StoreAwayError, match="is asked too often, or is overloaded"):
        append(committer, 2)
    s3.forgive()
    append(committer, 2)
    assert rows_in(store) == [1, 2]


def test_a_store_that_stalls_is_told_in_time_and_goes_on_later(s3, store, brief, writer):
    committer = writer(brief)
    committer.create({UNO: SCHEMA})
    s3.fail("PUT", "_delta_log", "stall", seconds=60)
    begun = time.monotonic()
    with pytest.raises(StoreAwayError, match="does not answer"):
        append(committer, 1)
    assert time.monotonic() - begun < 40
    s3.forgive()
    append(writer(), 1)
    append(committer, 2)
    assert rows_in(store) == [1, 2]


def test_lists_that_lag_lose_and_double_nothing(s3, store, writer):
    """Whoever does not see the newest commits finds their names taken, until it does."""
    writer().create({UNO: SCHEMA})
    append(writer(), 1)
    s3.fail("GET", "", "lag", seconds=3)
    done = threading.Event()

    def go_on() -> int:
        tries = 0
        for number in (2, 3, 3, 4):  # one comes again, as after a crash
            while True:
                tries += 1
                try:
                    append(writer(), number)
                    break
                except LakeError:
                    time.sleep(0.2)
        done.set()
        return tries

    assert go_on() >= 4
    assert fence_tables(store, 7) == 1
    s3.forgive()
    assert rows_in(store) == [1, 2, 3, 4]
    newest = json.loads(log_of(store, UNO).commit(newest_version(log_of(store, UNO))))
    assert newest["commitInfo"]["operation"] == "FENCE"


def test_credentials_that_expire_are_told_and_renewed_ones_go_on(s3, root, store, writer):
    old, new = (
        ObjectStore(root, {**s3.options, **BRIEF, "aws_session_token": token})
        for token in ("old", "new")
    )
    committer = writer(old)
    committer.create({UNO: SCHEMA})
    append(committer, 1)
    s3.refuse("*", "", "ExpiredToken", status=400, token="old")  # noqa: S106 - no secret
    with pytest.raises(LakeError, match=r"refuses our credentials \(ExpiredToken\)"):
        append(committer, 2)
    append(writer(new), 2)
    append(writer(new), 3)
    assert rows_in(store) == [1, 2, 3]
