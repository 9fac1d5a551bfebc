import time
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake_assets.delta import newest_rows as module
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files
from lake_assets.delta.newest_rows import NewestRow, newest_rows
from lake_assets.delta.origins import origin_schema
from lake_assets.delta.table_log import log_of
from lake_assets.model.sources import KafkaSource
from lake_assets.model.tables import bronze_of
from lake_assets.parquet.data_file import write_file
from lake_assets.storage.local import LocalStore

ORIGIN = KafkaSource.origin
COLUMNS = origin_schema(ORIGIN)
TABLE = bronze_of("games")
AT = datetime(2026, 11, 20, tzinfo=UTC)


def at(offset):
    return AT + timedelta(milliseconds=offset)


def micros(offset):
    """The same, as it is told."""
    return (at(offset) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


class Bronze:
    def __init__(self, folder):
        self.committer = Committer(LocalStore.at(folder), threads=1)
        self.committer.create({TABLE: COLUMNS})
        self.number = 0
        self.first = set()

    def put(self, *rows, columns=COLUMNS, topic="t"):
        """A file of rows, each a partition and an offset."""
        self.number += 1
        content = pa.Table.from_pylist(
            [
                {"topic": topic, "partition": p, "offset": o, ORIGIN.time: told}
                for p, o, told in ((*row, at(row[1]))[:3] for row in rows)
            ],
            schema=columns,
        )
        log = log_of(self.committer.store, TABLE)
        file = DataFile(**write_file(self.committer.store, content, log.folder))
        self.committer.append([Commit(table=TABLE, files=[file])], Batch("s", self.number))
        self.first = self.first or {file.path}
        written = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 == written:
            pass  # the log tells milliseconds, and which file is newer goes by them

    def newest(self, **ends):
        handle = self.committer.fresh(TABLE)
        log = log_of(self.committer.store, TABLE)
        found = newest_rows(log, handle, ORIGIN, {("t", int(p[1:])): n for p, n in ends.items()})
        return {partition: row for (_, partition), row in found.items()}


@pytest.fixture
def bronze(tmp_path):
    made = Bronze(tmp_path)
    yield made
    made.committer.close()


def test_each_partition_has_its_last_row(bronze):
    bronze.put((0, 1), (0, 3), (0, 2), (1, 7))
    bronze.put((0, 4))
    found = {0: NewestRow(4, micros(4)), 1: NewestRow(7, micros(7))}
    assert bronze.newest(p0=5, p1=8) == found


def test_other_sources_and_partitions_count_for_nothing(bronze):
    bronze.put((0, 1), (5, 1))
    bronze.put((0, 9), topic="another")
    assert bronze.newest(p0=2, p1=8) == {0: NewestRow(1, micros(1))}


def test_a_row_that_tells_no_time_is_none(bronze):
    bronze.put((0, 1), (0, 2, None))
    assert bronze.newest(p0=3) == {0: NewestRow(1, micros(1))}


def test_a_time_may_be_beyond_the_calendar(bronze):
    far = pa.scalar(1_700_000_000_000_000_000, pa.int64()).cast(pa.timestamp("us", "UTC"))
    bronze.put((0, 1, far))
    assert bronze.newest(p0=2) == {0: NewestRow(1, 1_700_000_000_000_000_000)}


def test_files_without_the_columns_are_passed_over(bronze):
    bronze.put((0, 1))
    bronze.put((0, 2), columns=pa.schema([COLUMNS.field(n) for n in ORIGIN.identity]))
    assert bronze.newest(p0=3) == {0: NewestRow(1, micros(1))}


@pytest.mark.parametrize("content", [None, b"", b"PAR1 torn"])
def test_files_that_are_gone_or_torn_are_passed_over(bronze, content):
    bronze.put((0, 1))
    bronze.put((0, 2))
    log = log_of(bronze.committer.store, TABLE)
    (last,) = [f for f in active_files(log.open()) if f.path not in bronze.first]
    path = log.data_file(last.path).as_path()
    path.unlink() if content is None else path.write_bytes(content)
    assert bronze.newest(p0=3) == {0: NewestRow(1, micros(1))}


def test_files_that_are_damaged_anywhere_are_passed_over(bronze):
    """By a disk, or by power that went: Arrow tells most of it by errors without a number."""
    bronze.put((0, 1))
    bronze.put(*((0, offset) for offset in range(2, 300)))
    log = log_of(bronze.committer.store, TABLE)
    (last,) = [f for f in active_files(log.open()) if f.path not in bronze.first]
    path = log.data_file(last.path).as_path()
    whole = path.read_bytes()
    found = set()
    for start in range(0, len(whole), 7):
        path.write_bytes(whole[:start] + b"\xa5" * 8 + whole[start + 8 :])
        found.add(bronze.newest(p0=300)[0].offset)
    assert found >= {1, 299}


def test_a_file_of_many_rows_is_read_from_its_end_and_not_to_its_begin(bronze, monkeypatch):
    sizes = []

    def counted(*arguments):
        rows = _READ(*arguments)
        sizes.append(rows.num_rows)
        return rows

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    bronze.put((1, 4))
    with monkeypatch.context() as patched:
        patched.setattr(pq.ParquetWriter, "write_table", _in_groups_of_ten)
        bronze.put(*((0, offset) for offset in range(95)))
    assert bronze.newest(p0=95) == {0: NewestRow(94, micros(94))}
    assert sizes == [5]
    sizes.clear()
    newest = {0: NewestRow(94, micros(94)), 1: NewestRow(4, micros(4))}
    assert bronze.newest(p0=96, p1=6) == newest  # the last offset of each stands for no row
    assert sizes == [5, *[10] * 9, 1]
    sizes.clear()
    monkeypatch.setattr(module, "_MOST_ROWS", 20)
    assert bronze.newest(p0=96, p1=6) == {0: NewestRow(94, micros(94))}
    assert sizes == [5, 10, 10]


def _in_groups_of_ten(writer, rows):
    for start in range(0, rows.num_rows, 10):
        _WRITE(writer, rows.slice(start, 10))


_READ = pq.ParquetFile.read_row_group
_WRITE = pq.ParquetWriter.write_table


def test_an_older_file_that_was_joined_last_does_not_hide_newer_ones(bronze):
    bronze.put((0, 5))
    bronze.put((0, 1))  # as its rows' file is written anew
    assert bronze.newest(p0=6) == {0: NewestRow(5, micros(5))}


def test_just_so_many_files_are_looked_into(bronze, monkeypatch):
    bronze.put((1, 1))
    bronze.put((0, 1))
    monkeypatch.setattr(module, "_MOST_FILES", 1)
    assert bronze.newest(p0=2, p1=2) == {0: NewestRow(1, micros(1))}


def test_an_empty_table_has_none(bronze):
    assert bronze.newest(p0=2) == {}
