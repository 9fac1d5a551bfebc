"""Tables as datasets: what their logs say, and no more of their files than is asked for."""

import json
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake

from lake_assets.delta.commit import Batch
from lake_assets.delta.table_log import log_of
from lake_assets.errors import TableFeatureError
from lake_assets.query.table_rows import TableReader
from lake_assets.storage.local import LocalStore
from lake_assets_tests.delta.test_deletion_vectors import GONE, deleted
from lake_assets_tests.query.lakes import UNO
from lake_assets_tests.table_logs import commit_file

__all__ = ["deleted"]


def read(root, *, scratch=None):
    """The table of `root`, without closing what it opened: files of a disk are Arrow's."""
    log = log_of(LocalStore.at(root), UNO)
    return TableReader(scratch=scratch or root).rows(log, log.open(), ("n", "at"))


@pytest.mark.usefixtures("deleted")
def test_rows_that_are_deleted_are_left_out(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = read(tmp_path, scratch=scratch).to_table(columns=["n"])["n"].to_pylist()
    assert found == [n for n in range(30) if n not in GONE]
    assert len(list(scratch.iterdir())) == 1


def test_files_that_a_filter_leaves_nothing_of_are_not_opened(tmp_path, committer, land):
    columns = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    committer.create({UNO: columns})
    for number in range(3):
        rows = pa.table({"n": [number * 10, None], "at": [number * 1000 + 999, 0]}, columns)
        committer.append([land(UNO, rows)], Batch("fill", number + 1))
    rows = read(tmp_path)
    assert len(list(rows.get_fragments(pc.field("n") == 10))) == 1
    assert len(list(rows.get_fragments(pc.field("n").is_null()))) == 3
    assert rows.count_rows(filter=pc.field("at") > pa.scalar(2998, columns.field("at").type)) == 1
    # A file that is not wanted may be gone.
    first = min((tmp_path / UNO.relative).glob("*.parquet"), key=lambda f: f.stat().st_mtime_ns)
    first.write_bytes(b"torn")
    assert rows.to_table(filter=pc.field("n") >= 10)["n"].to_pylist() in ([10, 20], [20, 10])


def test_a_time_above_the_milliseconds_that_a_log_notes_is_found(tmp_path, committer, land):
    columns = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    committer.create({UNO: columns})
    committer.append([land(UNO, pa.table({"n": [1], "at": [1_999]}, columns))], Batch("fill", 1))
    log = commit_file(tmp_path / UNO.relative, 1)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            stats = json.loads(line["add"]["stats"])
            for bound in ("minValues", "maxValues"):
                stats[bound]["at"] = "1970-01-01T00:00:00.001Z"
            line["add"]["stats"] = json.dumps(stats)
    log.write_text("\n".join(map(json.dumps, lines)))
    at = pa.scalar(1_999, columns.field("at").type)
    rows = read(tmp_path)
    assert rows.count_rows(filter=pc.field("at") == at) == 1


def test_files_of_older_columns_are_read_as_the_table_is_now(tmp_path, committer, land):
    before = pa.schema([("n", pa.int64()), ("s", pa.struct([("x", pa.int64())]))])
    committer.create({UNO: before})
    rows = pa.table({"n": [1], "s": [{"x": 1}]}, before)
    committer.append([land(UNO, rows)], Batch("fill", 1))
    fields = [("x", pa.int64()), ("y", pa.string())]
    now = pa.schema([("n", pa.int64()), ("s", pa.struct(fields)), ("more", pa.string())])
    committer.add_columns({UNO: now})
    found = read(tmp_path)
    assert found.to_table().to_pylist() == [{"n": 1, "s": {"x": 1, "y": None}, "more": None}]
    assert found.count_rows(filter=pc.field("s", "y").is_null()) == 1


def test_a_column_that_only_the_log_has_comes_from_there(tmp_path):
    """As other engines lay partitions out: their files lack the column."""
    folder = tmp_path / UNO.relative
    rows = pa.table({"n": [1, 2, 3], "day": [date(2026, 1, 1), date(2026, 1, 2), None]})
    write_deltalake(str(folder), rows, partition_by="day")
    found = read(tmp_path)
    assert len(list(found.get_fragments(pc.field("day") == date(2026, 1, 2)))) == 1
    days = {row["n"]: row["day"] for row in found.to_table().to_pylist()}
    assert days == {1: date(2026, 1, 1), 2: date(2026, 1, 2), 3: None}


def test_a_table_that_cannot_be_read_here_is_refused(tmp_path, committer):
    committer.create({UNO: pa.schema([("n", pa.int32())])})
    first = commit_file(tmp_path / UNO.relative, 0)
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"
            schema = json.loads(line["metaData"]["schemaString"])
            marks = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "n"}
            schema["fields"][0]["metadata"] = marks
            line["metaData"]["schemaString"] = json.dumps(schema)
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
    first.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(TableFeatureError, match="columnMapping"):
        read(tmp_path)
