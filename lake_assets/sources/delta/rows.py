"""Rows of a table's data file, as bronze has them: a JSON object a row, its values exact.

Decimals are text, times ISO 8601 text with microseconds, binary is Base64, a map is an object whose
names are its keys' text: what the payload `json` reads back by the types that a feed declares. A
column that is null is left out. NaN and infinities, which JSON has not, are text.
"""

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from lake_assets.sources.files.cutting import MOST_BYTES, TOO_LONG
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
_BYTES = 8 * 1024 * 1024
"""Of rows that are handed over at once, about."""

_NO_VALUE = (pa.ArrowException, KeyError, OverflowError, TypeError, ValueError)
"""What is raised at values that Python or JSON have not, and at files that are none."""


def read_part(source: DeltaSource, part: Part) -> Iterator[pa.RecordBatch]:
    """The rows of a part, `COLUMNS`, some at a time.

    A row that JSON cannot have, such as one with a date after the year 9999, is one without value.
    Where a file cannot be read, so is the first row that is missing; with it the part ends.

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
            for values, problems in _in_pieces(_encoded(rows, told.partition)):
                yield _batch(part, told.version, reached, values, problems)
                reached += len(values)
    except FileNotFoundError:
        yield _problem(part, told.version, reached, "vanished before it was read (VACUUM?)")
        return
    except _NO_VALUE as why:
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
            told = file.metadata.row_group(group)
            end = first + told.num_rows
            if end > part.start and first < part.end:
                at, fitting = first, _BYTES * told.num_rows // max(1, told.total_byte_size)
                for batch in file.iter_batches(max(1, min(_ROWS, fitting)), row_groups=[group]):
                    low, high = max(part.start - at, 0), min(part.end - at, batch.num_rows)
                    if low < high:
                        yield _microseconds(batch.slice(low, high - low))
                    at += batch.num_rows
                    if at >= part.end:
                        return
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


def _encoded(
    rows: pa.RecordBatch, partition: Mapping[str, Any]
) -> Iterator[tuple[bytes | None, str | None]]:
    """Each row as JSON, or why it cannot be."""
    for row in _as_python(rows):
        try:
            value = row if isinstance(row, str) else encode({**row, **partition})
        except _NO_VALUE as why:
            value = str(why)
        if isinstance(value, str):
            yield None, f"the row cannot be read: {value}"
        elif len(value) > MOST_BYTES:
            yield None, f"the row {TOO_LONG}"
        else:
            yield value, None


def _as_python(rows: pa.RecordBatch) -> Iterator[dict[str, Any] | str]:
    """Each row, or why Python has no such values."""
    try:
        yield from rows.to_pylist(maps_as_pydicts="strict")
    except _NO_VALUE as why:
        if rows.num_rows == 1:
            yield str(why)
            return
        for at in range(rows.num_rows):
            yield from _as_python(rows.slice(at, 1))


def _in_pieces(
    rows: Iterable[tuple[bytes | None, str | None]],
) -> Iterator[tuple[list[bytes | None], list[str | None]]]:
    """Values and problems, some bytes at a time."""
    values, problems, size = list[bytes | None](), list[str | None](), 0
    for value, problem in rows:
        values.append(value)
        problems.append(problem)
        size += len(value or b"")
        if size >= _BYTES:
            yield values, problems
            values, problems, size = [], [], 0
    if values:
        yield values, problems


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
    part: Part,
    version: int,
    row: int,
    values: Sequence[bytes | None],
    problems: Sequence[str | None],
) -> pa.RecordBatch:
    count, file = len(values), part.entry.file
    told = [None if words is None else f"file {file.name}: {words}" for words in problems]
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
        pa.array(told, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)


def _problem(part: Part, version: int, row: int, words: str) -> pa.RecordBatch:
    return _batch(part, version, min(row, part.end - 1), [None], [words])
