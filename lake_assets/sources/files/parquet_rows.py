"""Files of Parquet as a source: counted by their footer, their rows JSON objects in bronze.

What an object has is `parquet_json`'s.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.errors import first_line
from lake_assets.parquet.read_file import opened_in_pieces
from lake_assets.sources.files.cutting import NOWHERE, Rows
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.measuring import Cut, Measured
from lake_assets.sources.files.opening import (
    BadFileError,
    Opener,
    codec_of,
    is_of_disk,
    seekable,
)
from lake_assets.sources.files.parquet_json import (
    NO_VALUE,
    pieces_of,
)

MARK_ROWS = 100_000
"""About so many rows lie the places apart at which a file may be begun."""

_SHARES = 16
"""Parts of a row group at most: each decodes what of the group is before it."""

_MOST_ROWS = 2**32
"""Of a file. One that says more would take offsets that no other file could have then."""

_SHOWN = 300
"""Characters of what Arrow says of a file."""


def measure_parquet(cut: Cut, name: str, file: Opener, size: int) -> Measured:
    """How many rows the footer says there are: `file_formats.FileFormat.measure`."""
    codec = codec_of(cut.source, name)
    if codec is not None:
        raise BadFileError(f"is compressed by {codec} as a whole, where Parquet's pages are to be")
    with _opened(file, size) as parquet:
        footer = parquet.metadata
        groups = [footer.row_group(at).num_rows for at in range(parquet.num_row_groups)]
        rows = footer.num_rows
        if rows > _MOST_ROWS:
            raise BadFileError(f"says that it has {rows:,} rows, and {_MOST_ROWS:,} are the most")
        if rows != sum(groups) or any(group < 0 for group in groups):
            fact = f"says that it has {rows:,} rows, and that its row groups have {sum(groups):,}"
            raise BadFileError(fact)
        _ensure_names(parquet.schema_arrow, rows)
    return Measured(lines=rows, marks=_marks(groups))


def read_parquet(
    cut: Cut, entry: Entry, start: int, end: int, file: Opener
) -> Iterator[tuple[Rows, int]]:
    """The rows, some at a time: `file_formats.FileFormat.rows`."""
    del cut
    with _opened(file, entry.file.size) as parquet:
        for piece in pieces_of(parquet, start, end):
            count = len(piece.values)
            told = {at: why for at, why in enumerate(piece.problems) if why is not None}
            rows = Rows(
                values=piece.values,
                lines=piece.first + np.arange(count, dtype=np.int64),
                positions=np.full(count, NOWHERE, np.int64),
                problems=told,
            )
            yield rows, piece.end


@contextmanager
def _opened(file: Opener, size: int) -> Iterator[pq.ParquetFile]:
    """A file whose footer can be read.

    Raises:
        BadFileError: there is none, or one that Arrow does not read.
        OSError: the disk does not give it.
    """
    with seekable(file, size) as stream:
        try:
            parquet = opened_in_pieces(stream)
            parquet.schema_arrow  # noqa: B018 - columns of types that Arrow has not are told by it
        except (*NO_VALUE, OSError) as problem:
            if is_of_disk(problem):
                raise
            raise BadFileError(f"has no footer of Parquet ({in_words(problem)})") from problem
        with parquet:
            yield parquet


def in_words(problem: Exception) -> str:
    """What Arrow raised, in words that a row can hold."""
    return first_line(problem)[:_SHOWN].encode(errors="backslashreplace").decode()


def _ensure_names(columns: pa.Schema, rows: int) -> None:
    """That each row has names, each of them once.

    Raises:
        BadFileError: it has not.
    """
    if rows and not columns.names:
        raise BadFileError(f"has {rows:,} rows without columns")
    twice = next(_twice("", list(columns)), None)
    if twice is not None:
        raise BadFileError(f"has two columns that are called {twice[:_SHOWN]!r}")


def _twice(above: str, fields: list[pa.Field]) -> Iterator[str]:
    """Names that two fields of one object have, also of objects in it."""
    names = set[str]()
    for field in fields:
        path = f"{above}{field.name}"
        kind = field.type
        if field.name in names:
            yield path
        names.add(field.name)
        while not pa.types.is_struct(kind) and pa.types.is_nested(kind) and kind.num_fields == 1:
            kind = kind.field(0).type
        if pa.types.is_struct(kind):
            yield from _twice(f"{path}.", list(kind))


def _marks(groups: list[int]) -> list[tuple[int, int]]:
    """Where a file may be begun: at row groups, and within large ones."""
    marks, first, last = list[tuple[int, int]](), 0, 0
    for rows in groups:
        step = max(MARK_ROWS, -(-rows // _SHARES))
        for row in range(first, first + rows, step):
            if row - last >= MARK_ROWS:
                marks.append((row, 0))
                last = row
        first += rows
    return marks
