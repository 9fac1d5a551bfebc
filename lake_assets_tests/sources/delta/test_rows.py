import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake_assets.model.delta_source import DeltaSource
from lake_assets.sources.delta.rows import read_part
from lake_assets.sources.delta.versions import FileOrigin
from lake_assets.sources.files import parquet_json as module
from lake_assets.sources.files.cutting import TOO_LONG
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.reading import Part

TOLD = FileOrigin(table="t", version=4, partition={"day": "2026-01-01"}).text


def part_of(start, end, lines, told=TOLD):
    entry = Entry(file=Found("a.parquet", 1, 5_000), first=100, lines=lines, counted_as=told)
    return Part(entry=entry, start=start, end=end)


@pytest.fixture
def source(tmp_path):
    pq.write_table(pa.table({"n": range(10)}), tmp_path / "a.parquet", row_group_size=3)
    return DeltaSource(path=str(tmp_path))


@pytest.mark.parametrize("bounds", [(0, 10), (2, 3), (3, 6), (2, 10), (9, 10)])
def test_a_part_is_cut_out_of_its_row_groups(source, bounds):
    start, end = bounds
    rows = pa.Table.from_batches(read_part(source, part_of(start, end, 10)))
    there = list(range(start, end))
    assert [json.loads(value) for value in rows["value"].to_pylist()] == [
        {"n": n, "day": "2026-01-01"} for n in there
    ]
    assert rows["ordinal"].to_pylist() == [100 + n for n in there]
    assert rows["_row"].to_pylist() == [1 + n for n in there]
    assert set(rows["_source_version"].to_pylist()) == {4}


def test_nothing_behind_a_part_is_decoded(source, tmp_path, monkeypatch):
    pq.write_table(pa.table({"n": range(100)}), tmp_path / "a.parquet")
    decoded, batches = [], pq.ParquetFile.iter_batches

    def counting(*given, **named):
        for batch in batches(*given, **named):
            decoded.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counting)
    monkeypatch.setattr(module, "_ROWS", 10)
    rows = pa.Table.from_batches(read_part(source, part_of(10, 20, 100)))
    assert rows["ordinal"].to_pylist() == [*range(110, 120)]
    assert sum(decoded) == 20


@pytest.mark.parametrize(
    ("content", "at", "told"),
    [(None, 10, "has 10 rows, and the log says 12"), (b"PAR1 torn", 0, "cannot be read")],
)
def test_what_is_missing_is_one_row_that_says_so(source, tmp_path, content, at, told):
    if content is not None:
        (tmp_path / "a.parquet").write_bytes(content)
    *_, last = pa.Table.from_batches(read_part(source, part_of(0, 12, 12))).to_pylist()
    assert (last["value"], last["ordinal"]) == (None, 100 + at)
    assert told in last["_problem"]


def test_a_row_that_cannot_be_had_takes_no_other_with_it(source, tmp_path):
    days = pa.array([0, 4_000_000, 1, -800_000], pa.int32()).cast(pa.date32())
    tags = pa.array([[], [], [("a", 1), ("a", 2)], []], pa.map_(pa.string(), pa.int64()))
    table = pa.table({"n": [*range(4)], "day": days, "tags": tags})
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), tmp_path / "a.parquet")
    told = FileOrigin(table="t", version=4, partition={}).text
    rows = pa.Table.from_batches(read_part(source, part_of(0, 5, 5, told))).to_pylist()
    assert [row["ordinal"] for row in rows] == [100, 101, 102, 103, 104]
    assert [row["value"] is None for row in rows] == [False, True, True, True, False]
    assert "the row cannot be read" in rows[1]["_problem"]
    assert "duplicate key" in rows[2]["_problem"]
    assert json.loads(rows[4]["value"]) == {"n": 0, "day": "1970-01-01", "tags": {}}


def test_wide_rows_come_few_at_a_time_and_too_wide_ones_not_at_all(source, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BYTES", 1_000)
    monkeypatch.setattr(module, "MOST_BYTES", 2_000)
    wide = [f"{n}" * (3_000 if n == 5 else 400) for n in range(10)]
    pq.write_table(pa.table({"wide": wide}), tmp_path / "a.parquet")
    parts = list(read_part(source, part_of(0, 10, 10)))
    assert max(part.num_rows for part in parts) <= 3
    rows = pa.Table.from_batches(parts).to_pylist()
    assert [row["ordinal"] for row in rows] == [100 + n for n in range(10)]
    lost = {row["ordinal"]: row["_problem"] for row in rows if row["value"] is None}
    assert lost == {105: f"file a.parquet: the row {TOO_LONG}"}
