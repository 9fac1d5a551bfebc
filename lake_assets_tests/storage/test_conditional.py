import threading

import pytest

from lake_assets.errors import LakeError, NoBucketError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.conditional import ConditionalFile
from lake_assets.storage.objects import ObjectStore

NO_RETRY = {"max_retries": "0", "timeout": "5s", "connect_timeout": "1s"}


@pytest.fixture
def s3(either_s3):
    return either_s3


@pytest.fixture
def file(bucket):
    return LakeUri.parse(f"s3://{bucket}/lake/_lake.json")


def test_a_file_is_made_once_and_replaced_by_whoever_read_it_last(s3, file):
    one, other = (ConditionalFile(file, s3.options) for _ in range(2))
    assert one.read() is None
    assert other.read() is None
    assert one.write(b"one")
    assert not other.write(b"other")
    assert other.write(b"other after one")
    assert not one.write(b"late")
    assert one.read() == b"other after one"
    assert one.write(b"1")
    assert one.write(b"2")
    assert other.read() == b"2"


def test_one_of_many_succeeds(s3, file):
    files = [ConditionalFile(file, s3.options) for _ in range(8)]
    assert files[0].write(b"first")
    for one in files:
        one.read()
    done: list[int] = []

    def write(number: int) -> None:
        if files[number].write(b"%d" % number):
            done.append(number)

    threads = [threading.Thread(target=write, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = done
    assert files[0].read() == b"%d" % winner


def test_what_was_written_and_not_answered_is_known_as_our_own(s3, file):
    one = ConditionalFile(file, s3.options)
    one.read()
    again = ConditionalFile(file, s3.options)
    again.read()
    assert again.write(b"ours")
    assert one.write(b"ours")


def test_a_file_that_was_deleted_is_not_replaced(s3, file):
    one = ConditionalFile(file, s3.options)
    assert one.write(b"first")
    ObjectStore(file, s3.options).delete(file)
    assert not one.write(b"second")
    assert one.write(b"third")


def test_what_refuses_us_is_told(s3, file):
    one = ConditionalFile(file, {**s3.options, **NO_RETRY})
    for method, use in (("GET", one.read), ("PUT", lambda: one.write(b"x"))):
        s3.refuse(method, file.bucket, "AccessDenied")
        with pytest.raises(LakeError, match="refuses our credentials"):
            use()
        s3.forgive()
    nowhere = ConditionalFile(LakeUri.parse("s3://no-such-bucket/x"), s3.options)
    with pytest.raises(NoBucketError):
        nowhere.read()
