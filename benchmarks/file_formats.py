"""What files cost their source: counted once when found, then read into rows of bronze, by format.

The same rows in each, by one process, without Spark: writing bronze, and what comes after it, costs
the same whatever the rows are from.
"""

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.section import Figure, Section
from benchmarks.venue import Venue
from lake_assets.model.feeds import Feed
from lake_assets.sources.files.file_formats import measure
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.measuring import Cut
from lake_assets.sources.files.open_place import open_place
from lake_assets.sources.files.reading import Part, read_part

FILE_FORMATS = "file-formats"

_ROWS = 200_000
"""Of a file, at most: the slowest format takes some seconds for them."""

_DDL = "id string, time timestamp, model string, bpm int, load double, price decimal(10,2)"

_BEGIN = datetime(2026, 11, 26, tzinfo=UTC)

_AVRO = {
    "type": "record",
    "name": "Beat",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "model", "type": "string"},
        {"name": "bpm", "type": "int"},
        {"name": "load", "type": "double"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        },
    ],
}


def measure_file_formats(venue: Venue) -> Section:
    """Count and read a file of each format, the best of some runs."""
    folder, options = venue.lake().home, venue.options
    rows = min(options.events, _ROWS)
    found: list[Mapping[str, Figure]] = []
    for name in FORMATS:
        if venue.stop():
            raise KeyboardInterrupt
        found.append(measure_format(folder, name, rows, options.runs))
        venue.announce(f"{FILE_FORMATS}: {name} {found[-1]['read_rows_per_s']:,} rows/s")
    note = "of one process, its own processor time; six columns, among them a time and a decimal"
    return Section(name=FILE_FORMATS, keys=("format",), rows=found, note=note)


def measure_format(folder: Path, name: str, rows: int, runs: int) -> Mapping[str, Figure]:
    """What a file of a format costs, which is written first."""
    write, payload = FORMATS[name]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"beats.{name}"
    write(path, events(rows))
    source = {"files": {"path": str(folder), "format": name}}
    feed = Feed.model_validate({"feed": "beats", "source": source, "payload": payload})
    cut = Cut.of(feed)
    place = open_place(cut.source)
    counting, reading = [], []
    for _ in range(max(1, runs)):
        file = place.look(path.name)
        assert file is not None  # noqa: S101 - it was written above
        began = time.process_time()
        measured = measure(cut, file.name, place.opener(file), file.size)
        counting.append(time.process_time() - began)
        entry = Entry(file=file, first=0, lines=measured.lines, marks=measured.marks)
        began = time.process_time()
        parts = read_part(place, cut, Part(entry=entry, start=0, end=measured.lines))
        read = sum(part.num_rows - part["value"].null_count for part in parts)
        reading.append(time.process_time() - began)
        assert read == rows, f"{name}: {read} rows of {rows}"  # noqa: S101 - else it is no figure
    took = min(reading)
    return {
        "format": name,
        "rows": rows,
        "mb": round(path.stat().st_size / 1e6, 2),
        "count_s": round(min(counting), 6),
        "read_s": round(took, 3),
        "read_rows_per_s": round(rows / took),
        "cpu_us_per_row": round((took + min(counting)) / rows * 1e6, 2),
    }


def events(rows: int) -> pa.Table:
    """Rows as a device may send them."""
    numbers = range(rows)
    return pa.table(
        {
            "id": [f"{n:024x}" for n in numbers],
            "time": pa.array(
                [_BEGIN + timedelta(milliseconds=17 * n) for n in numbers],
                pa.timestamp("us", "UTC"),
            ),
            "model": [f"model {n % 50}" for n in numbers],
            "bpm": pa.array([60 + n % 90 for n in numbers], pa.int32()),
            "load": [n / 7 for n in numbers],
            "price": pa.array([n % 10_000 for n in numbers], pa.int32())
            .cast(pa.decimal128(12, 2))
            .cast(pa.decimal128(10, 2)),
        }
    )


def _jsonl(path: Path, table: pa.Table) -> None:
    with path.open("w") as out:
        for row in table.to_pylist():
            told = {**row, "time": row["time"].isoformat(), "price": str(row["price"])}
            out.write(json.dumps(told) + "\n")


def _csv(path: Path, table: pa.Table) -> None:
    options = pyarrow.csv.WriteOptions(include_header=False)
    pyarrow.csv.write_csv(table, path, options)


def _avro(path: Path, table: pa.Table) -> None:
    with path.open("wb") as out:
        fastavro.writer(out, _AVRO, table.to_pylist(), codec="deflate")


def _parquet(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path)


_JSON = {"json": {"schema": _DDL}}

FORMATS: Mapping[str, tuple[Callable[[Path, pa.Table], None], dict[str, Any]]] = {
    "jsonl": (_jsonl, _JSON),
    "csv": (_csv, {"csv": {"schema": _DDL}}),
    "avro": (_avro, {"avro": {}}),
    "parquet": (_parquet, _JSON),
}
"""By format, what writes a file, and a feed's payload."""
