"""Rows of a table's data file, as bronze has them: a JSON object a row (`files.json_values`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.delta.table_paths import data_file
from lake_assets.errors import first_line
from lake_assets.model.delta_source import DeltaSource
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.one_source import TABLE
from lake_assets.model.origins import PROBLEM
from lake_assets.parquet.read_file import opened_in_pieces
from lake_assets.sources.delta.versions import FileOrigin
from lake_assets.sources.files.opening import is_of_disk
from lake_assets.sources.files.parquet_json import NO_VALUE, Piece, pieces_of
from lake_assets.sources.files.reading import Part

COLUMNS = pa.schema(
    [
        pa.field("value", pa.binary()),
        *origin_schema(DeltaSource.origin),
        pa.field(PROBLEM, pa.string()),
    ]
)
"""What bronze has of a row."""


def read_part(source: DeltaSource, part: Part) -> Iterator[pa.RecordBatch]:
    """The rows of a part, `COLUMNS`, some at a time.

    A row that JSON cannot have, such as one with a date after the year 9999, is one without value.
    So is one in place of the rest of a row group that cannot be read, or of the part, where the
    file cannot.

    Raises:
        OSError: the disk does not give the file.
    """
    name, reached = part.entry.file.name, part.start
    told = FileOrigin.of(part.entry.counted_as)
    if told is None:
        yield _problem(part, 0, reached, "is of another source")
        return
    try:
        for piece in _pieces_of(source, part, told):
            yield _batch(part, told.version, piece.first, piece.values, piece.problems)
            reached = piece.end
    except FileNotFoundError:
        yield _problem(part, told.version, reached, "vanished before it was read (VACUUM?)")
        return
    except (*NO_VALUE, OSError) as why:
        if is_of_disk(why):
            raise
        yield _problem(part, told.version, reached, f"{name} cannot be read: {first_line(why)}")
        return
    if reached < part.end:
        words = f"has {reached} rows, and the log says {part.entry.lines}"
        yield _problem(part, told.version, reached, words)


def _pieces_of(source: DeltaSource, part: Part, told: FileOrigin) -> Iterator[Piece]:
    place = data_file(LakeUri.local(Path(source.path)), part.entry.file.name)
    with place.as_path().open("rb") as stream, opened_in_pieces(stream) as file:
        yield from pieces_of(file, part.start, part.end, told.further)


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
