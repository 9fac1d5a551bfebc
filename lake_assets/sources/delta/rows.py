"""Rows of a table's data file, as bronze has them: a JSON object a row, its values exact.

Decimals are text, times ISO 8601 text with microseconds, binary is Base64, a map is an object whose
names are its keys' text: what the payload `json` reads back by the types that a feed declares. A
column that is null is left out. NaN and infinities, which JSON has not, are text.
"""

import base64
import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.delta.table_paths import data_file
from lake_assets.model.delta_source import TABLE, DeltaSource
from lake_assets.model.origins import PROBLEM
from lake_assets.parquet.read_file import opened
from lake_assets.sources.delta.versions import FileOrigin
from lake_assets.sources.files.reading import Part
from lake_assets.storage.uri import LakeUri

COLUMNS = pa.schema(
    [
        pa.field("value", pa.binary()),
        *origin_schema(DeltaSource.origin),
        pa.field(PROBLEM, pa.string()),
    ]
)
"""What bronze has of a row."""

_ROWS = 4_096
"""Rows that are handed over at once."""


def read_part(source: DeltaSource, part: Part) -> Iterator[pa.RecordBatch]:
    """The rows of a part, `COLUMNS`, some at a time.

    What cannot be read is a row without value, at the first row that is missing; with it the part
    ends.

    Raises:
        OSError: the disk does not give the file.
    """
    name, reached = part.entry.file.name, part.start
    told = FileOrigin.of(part.entry.counted_as)
    if told is None:
        yield _problem(part, 0, reached, "is of another source")
        return
    try:
        for rows in _rows_of(source, part):
            values = [
                encode({**row, **told.partition})
                for row in rows.to_pylist(maps_as_pydicts="strict")
            ]
            yield _batch(part, told.version, reached, values, None)
            reached += len(values)
    except FileNotFoundError:
        yield _problem(part, told.version, reached, "vanished before it was read (VACUUM?)")
        return
    except (pa.ArrowException, KeyError, OverflowError, TypeError, ValueError) as why:
        yield _problem(part, told.version, reached, f"{name} cannot be read: {why}")
        return
    if reached < part.end:
        words = f"has {reached} rows, and the log says {part.entry.lines}"
        yield _problem(part, told.version, reached, words)


def _rows_of(source: DeltaSource, part: Part) -> Iterator[pa.RecordBatch]:
    """The rows of a part, by the row groups that have some."""
    place = data_file(LakeUri.local(Path(source.path)), part.entry.file.name)
    with place.as_path().open("rb") as stream, opened(stream) as file:
        first = 0
        for group in range(file.num_row_groups):
            end = first + file.metadata.row_group(group).num_rows
            if end > part.start and first < part.end:
                at = first
                for batch in file.iter_batches(_ROWS, row_groups=[group]):
                    low, high = max(part.start - at, 0), min(part.end - at, batch.num_rows)
                    if low < high:
                        yield _microseconds(batch.slice(low, high - low))
                    at += batch.num_rows
            first = end


def _microseconds(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Times in the unit that Delta's have."""
    fields = [
        field.with_type(pa.timestamp("us", tz=field.type.tz))
        if pa.types.is_timestamp(field.type)
        else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields), safe=False)


def encode(row: dict[str, Any]) -> bytes:
    """A row as JSON."""
    made = {name: _plain(value) for name, value in row.items() if value is not None}
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:  # noqa: ANN401
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(_scalar(name)): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:  # noqa: ANN401
    """A value that holds no others, as JSON has it."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat(timespec="microseconds")
        case date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
    return value


def _batch(
    part: Part, version: int, row: int, values: Sequence[bytes | None], problem: str | None
) -> pa.RecordBatch:
    count, file = len(values), part.entry.file
    rows = np.arange(row, row + count, dtype=np.int64)
    committed = pa.scalar(file.modified_ns // 1000, pa.timestamp("us", tz="UTC"))
    arrays = [
        pa.array(values, pa.binary()),
        pa.repeat(pa.scalar(TABLE), count),
        pa.array(rows + part.entry.first),
        pa.repeat(committed, count),
        pa.repeat(pa.scalar(file.name), count),
        pa.array(rows + 1),
        pa.repeat(pa.scalar(version, pa.int64()), count),
        pa.repeat(pa.scalar(problem, pa.string()), count),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)


def _problem(part: Part, version: int, row: int, words: str) -> pa.RecordBatch:
    told = f"file {part.entry.file.name}: {words}"
    return _batch(part, version, min(row, part.end - 1), [None], told)
