"""A table's log on a disk and in a bucket: the same functions, the same answers."""

import json
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.delta.append import append
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.committer import Committer
from lake_assets.delta.known_table import look
from lake_assets.delta.log_checkpoints import CHECKPOINT_EVERY, is_checkpoint_due
from lake_assets.delta.log_tail import files_of_checkpoint, log_tail_of, newest_version
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError
from lake_assets.storage.objects import ObjectStore
from lake_assets_tests.delta.stores import in_bucket
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import local_log

UNO = silver_of("uno")
SCHEMA = pa.schema([("a", pa.int64())])
QUERY = "query"


@pytest.fixture
def committer(store):
    found = Committer(store, threads=2)
    yield found
    found.close()


@pytest.fixture
def log(store, committer):
    """Of a table that is there, empty."""
    assert committer.create({UNO: SCHEMA}) == {UNO}
    return log_of(store, UNO)


def landed(log: TableLog, value: int) -> Commit:
    """One row in a file that waits for its commit."""
    name = f"part-{uuid4()}.parquet"
    with log.store.open_for_writing(log.folder / name) as file:
        pq.write_table(pa.table({"a": [value]}, schema=SCHEMA), pa.PythonFile(file, "w"))
    size = log.store.stat(log.folder / name).size
    added = DataFile(path=name, size=size, rows=1, stats=json.dumps({"numRecords": 1}))
    return Commit(table=UNO, files=[added], info={"rows": "1"})


def stored(log: TableLog) -> list[int]:
    return sorted(log.open().to_pyarrow_table()["a"].to_pylist())


def test_a_table_is_created_once(log, committer):
    first = commit_digest(log, 0)
    assert committer.create({UNO: SCHEMA}) == set()
    assert commit_digest(log, 0) == first
    assert (newest_version(log), log.open().schema().to_arrow().names) == (0, ["a"])


def test_types_that_deltalake_must_create_are_created(store, committer):
    columns = pa.schema([("at", pa.timestamp("us"))])
    assert committer.create({UNO: columns}) == {UNO}
    assert committer.create({UNO: columns}) == set()
    assert log_of(store, UNO).open().protocol().min_writer_version == 7


def test_appends_are_read_at_the_end_of_the_log(log, committer):
    for number in range(3):
        assert committer.append([landed(log, number)], Batch(QUERY, number)) == []
        tail = log_tail_of(log)
        assert (tail.version, tail.table_id) == (number + 1, str(log.open().metadata().id))
        assert (tail.info["rows"], [file.rows for file in tail.added]) == ("1", [1])
    assert stored(log) == [0, 1, 2]
    assert len({commit_digest(log, version) for version in range(4)}) == 4
    assert commit_digest(log, 4) is None


def test_a_taken_version_is_left_alone(log, committer):
    known = look(log.open(), Batch(QUERY, 0))
    committer.append([landed(log, 1)], Batch(QUERY, 0))
    assert not append(log, known, landed(log, 2), Batch("other", 0), 0)
    assert stored(log) == [1]


def test_what_another_committer_appended_is_seen(log, store, committer):
    committer.append([landed(log, 1)], Batch(QUERY, 0))
    other = Committer(store, threads=1)
    assert other.append([landed(log, 1)], Batch(QUERY, 0)) == [UNO]
    other.append([landed(log, 2)], Batch(QUERY, 1))
    other.close()
    assert committer.append([landed(log, 2)], Batch(QUERY, 1)) == [UNO]
    committer.append([landed(log, 3)], Batch(QUERY, 2))
    assert stored(log) == [1, 2, 3]


def test_files_are_exchanged(log, committer):
    old = landed(log, 1)
    committer.append([old], Batch(QUERY, 0))
    new = landed(log, 2)
    committer.append([Commit(table=UNO, files=new.files, removed=old.files)], Batch(QUERY, 1))
    assert stored(log) == [2]


def test_a_due_checkpoint_is_written_and_the_log_read_from_it_on(log, committer):
    due = next(
        version for version in range(1, CHECKPOINT_EVERY + 1) if is_checkpoint_due(UNO, version)
    )
    for number in range(due + 2):
        committer.append([landed(log, number)], Batch(QUERY, number))
    committer.settle()
    assert files_of_checkpoint(log) == due
    for version in range(due):
        log.store.delete(log.commit_file(version))
    assert newest_version(log) == log_tail_of(log).version == due + 2
    assert committer.create({UNO: SCHEMA}) == set()
    assert stored(log) == list(range(due + 2))


def test_a_log_without_its_first_commit_and_no_noted_checkpoint_is_listed(log, committer):
    committer.append([landed(log, 1)], Batch(QUERY, 0))
    log.open().create_checkpoint()
    log.store.delete(log.file("_last_checkpoint"))
    log.store.delete(log.commit_file(0))
    assert newest_version(log) == 1


def test_where_no_table_is_nothing_is_told(store):
    log = log_of(store, UNO)
    assert log_tail_of(log) is None
    assert commit_digest(log, 0) is None
    with pytest.raises(FileNotFoundError):
        newest_version(log)


def test_a_commit_that_is_no_json_is_for_deltalake_to_tell(log):
    log.store.put_if_absent(log.commit_file(1), b"{")
    assert log_tail_of(log) is None


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_characters_that_end_lines_of_texts_are_read_where_they_stand_in_a_value(log, character):
    # Other writers do not escape them, such as in a file's statistics.
    told = {"commitInfo": {"note": f"a{character}b"}}
    content = json.dumps(told, ensure_ascii=False).encode()
    log.store.put_if_absent(log.commit_file(1), content + b"\n")
    assert log_tail_of(log).info == {"note": f"a{character}b"}


def test_a_folder_that_is_not_there_gets_no_commit(tmp_path):
    log = local_log(tmp_path / "none")
    with pytest.raises(LakeError, match="Make its folder"):
        log.put(1, [])
    assert list(tmp_path.iterdir()) == []


class LosingAnswers(ObjectStore):
    """Asks twice, as one does whose first answer the network lost."""

    def put_if_absent(self, file, content):
        super().put_if_absent(file, content)
        return super().put_if_absent(file, content)


def test_a_commit_whose_answer_was_lost_is_known_for_our_own(bucket, s3):
    store = in_bucket(bucket, s3, LosingAnswers)
    committer = Committer(store, threads=1)
    assert committer.create({UNO: SCHEMA}) == {UNO}
    log = log_of(store, UNO)
    for number in range(2):
        assert committer.append([landed(log, number)], Batch(QUERY, number)) == []
    assert not log.put(2, [{"commitInfo": {}}])
    committer.close()
    assert stored(log) == [0, 1]


def test_a_table_in_a_bucket_is_found_by_whoever_has_its_address(bucket, s3):
    store = in_bucket(bucket, s3)
    committer = Committer(store, threads=1)
    committer.create({UNO: SCHEMA})
    committer.close()
    address = f"s3://{bucket}/some/lake/silver/{UNO.name}"
    assert DeltaTable(address, storage_options=s3.options).version() == 0
