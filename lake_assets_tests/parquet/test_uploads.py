import threading

import pyarrow as pa
import pytest

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet import uploads as module
from lake_assets.parquet.uploads import Uploads
from lake_assets.storage.local import LocalStore
from lake_assets.storage.objects import ObjectStore

CONTENT = pa.py_buffer(b"content")
OFTEN_IN_VAIN = {"max_retries": "1", "retry_timeout": "5"}


@pytest.fixture
def store(moto, bucket):
    yield ObjectStore(LakeUri.parse(f"s3://{bucket}/lake"), {**moto.options, **OFTEN_IN_VAIN})
    moto.forgive()


def test_what_was_handed_over_is_there_once_it_has_settled(store):
    files = [store.root / str(number) for number in range(100)]
    with Uploads(store) as uploads:
        for file in files:
            uploads.put(file, CONTENT)
        uploads.settle()
        assert [store.get(file) for file in files] == [b"content"] * 100


def test_the_block_s_end_waits_for_all(store):
    with Uploads(store) as uploads:
        uploads.put(store.root / "a", CONTENT)
    assert store.get(store.root / "a") == b"content"


def test_whoever_hands_a_file_over_need_not_wait_for_the_store(moto, store):
    moto.fail("PUT", "/lake/", "stall", seconds=60)
    with Uploads(store) as uploads:
        uploads.put(store.root / "a", CONTENT)
        uploads.put(store.root / "b", CONTENT)
        moto.forgive()
    assert [*store.list_from(store.root)] == ["a", "b"]


def test_files_on_their_way_are_bounded_by_their_bytes(moto, store, monkeypatch):
    monkeypatch.setattr(module, "_MOST_BYTES", 2 * CONTENT.size)
    moto.fail("PUT", "/lake/", "stall", seconds=60)
    handed = threading.Semaphore(0)

    def hand_over():
        with Uploads(store) as uploads:
            for number in range(3):
                uploads.put(store.root / str(number), CONTENT)
                handed.release()

    thread = threading.Thread(target=hand_over)
    thread.start()
    assert handed.acquire(timeout=60)
    assert handed.acquire(timeout=60)
    assert not handed.acquire(timeout=0.5)
    moto.forgive()
    thread.join()
    assert [*store.list_from(store.root)] == ["0", "1", "2"]


def test_a_file_that_cannot_be_written_is_told_and_leaves_none(moto, store):
    moto.refuse("PUT", "/lake/b", "AccessDenied")

    def hand_over():
        with Uploads(store) as uploads:
            for name in "abc":
                uploads.put(store.root / name, CONTENT)

    with pytest.raises(LakeError, match="AccessDenied"):
        hand_over()
    assert [*store.list_from(store.root)] == []


@pytest.fixture(params=["disk", "bucket"])
def anywhere(request, tmp_path):
    return LocalStore.at(tmp_path) if request.param == "disk" else request.getfixturevalue("store")


def test_a_block_that_fails_leaves_no_file(anywhere):
    def hand_over():
        with Uploads(anywhere) as uploads:
            uploads.put(anywhere.root / "a", CONTENT)
            uploads.wrote(anywhere.root / "never came to be")
            raise ValueError("the rows")

    with pytest.raises(ValueError, match="the rows"):
        hand_over()
    assert [*anywhere.list_from(anywhere.root)] == []


def test_only_what_a_bucket_takes_in_one_piece_is_handed_over(store, tmp_path):
    with Uploads(store) as uploads:
        assert uploads.takes(2**20)
        assert not uploads.takes(2**24)
    with Uploads(LocalStore.at(tmp_path)) as uploads:
        assert not uploads.takes(2**20)
