"""What a query's result becomes: text for a terminal, CSV, JSON lines or Parquet.

Values are written by DuckDB, which knows all of its types; nothing holds more than a batch of rows.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from duckdb import DuckDBPyRelation

from lake_assets.errors import QueryError

_BATCH_ROWS = 10_000
"""Rows that are fetched at once: some megabytes."""

_CSV = pacsv.WriteOptions(include_header=False, quoting_style="needed")

_PLAIN = frozenset({"tinyint", "smallint", "integer", "bigint", "double", "float", "boolean"})
"""Types that CSV has without quotes."""

_NESTED = frozenset({"array", "list", "map", "struct", "union"})

_NO_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b')
"""A text of JSON, or what is no number there and DuckDB writes all the same."""


def text_rows(result: DuckDBPyRelation) -> Iterator[tuple[str | None, ...]]:
    """Each row as texts: as DuckDB writes values, and structs and lists as JSON."""
    for batch in _texts(result):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _texts(result: DuckDBPyRelation, plain: Collection[str] = frozenset()) -> pa.RecordBatchReader:
    """All columns as texts, but for those of the types `plain`."""
    columns = [
        f"c{number}" if kind.id in plain else _as_text(f"c{number}", kind.id)
        for number, kind in enumerate(result.types)
    ]
    return _batches(result, ", ".join(columns))


def _batches(result: DuckDBPyRelation, wanted: str) -> pa.RecordBatchReader:
    """What is wanted of each row, whose columns are called `c0`, `c1` and so on.

    By number: two columns of a result may have one name, and one may be called as the result is.
    """
    names = ", ".join(f"c{number}" for number in range(len(result.columns)))
    found = result.query("result", f"select {wanted} from result as r({names})")  # noqa: S608 - no user's names but in texts
    assert found is not None  # it is a SELECT  # noqa: S101
    return found.to_arrow_reader(_BATCH_ROWS)


def _as_text(value: str, kind: str) -> str:
    return f"to_json({value})::varchar" if kind in _NESTED else f"{value}::varchar"


def _cut(batches: Iterable[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """The first rows of what comes; no more batches are asked for than they are in."""
    left = limit
    for batch in batches if left != 0 else ():
        yield batch if left is None else batch.slice(0, left)
        if left is not None:
            left -= min(left, batch.num_rows)
            if not left:
                return


def write_csv(result: DuckDBPyRelation, out: IO[str], limit: int | None) -> int:
    """Write a line of names and a line a row; how many rows. Null is an empty field."""
    out.write(_line([one or "" for one in result.columns]))
    count = 0
    for batch in _cut(_texts(result, _PLAIN), limit):
        written = pa.BufferOutputStream()
        pacsv.write_csv(batch, written, _CSV)
        out.write(written.getvalue().to_pybytes().decode())
        count += batch.num_rows
    return count


def _line(names: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(names)
    return line.getvalue()


def write_json(result: DuckDBPyRelation, out: IO[str], limit: int | None) -> int:
    """Write an object of JSON a row, each on a line of its own; how many rows.

    Raises:
        QueryError: two columns have one name.
    """
    ensure_names(result.columns)
    parts = [f"{_quoted(name)}, c{number}" for number, name in enumerate(result.columns)]
    rows = _batches(result, f"json_object({', '.join(parts)})::varchar")
    count = 0
    for batch in _cut(rows, limit):
        lines = "\n".join(batch.column(0).to_pylist()) + "\n"
        is_usual = "NaN" not in lines and "Infinity" not in lines
        out.write(lines if is_usual else _NO_NUMBER.sub(_without, lines))
        count += batch.num_rows
    return count


def _quoted(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _without(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else "null"


def write_parquet(result: DuckDBPyRelation, path: Path, limit: int | None) -> int:
    """Write a Parquet file; how many rows it has.

    Raises:
        QueryError: two columns have one name, or one has a type that Parquet has not.
    """
    ensure_names(result.columns)
    reader = result.to_arrow_reader(_BATCH_ROWS)
    count = 0
    try:
        with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
            for batch in _cut(reader, limit):
                writer.write_batch(batch)
                count += batch.num_rows
    except pa.ArrowNotImplementedError as problem:
        fact = f"cannot be written ({str(problem).partition(chr(10))[0]})"
        raise QueryError("the result", fact, "Cast that column to a text in the query") from problem
    return count


def ensure_names(names: Sequence[str]) -> None:
    """Refuse columns of one name, where a format tells them apart by nothing else.

    Raises:
        QueryError: there are some.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        fact = f"has several columns that are called {twice!r}"
        raise QueryError("the result", fact, "Give each a name of its own by AS")


def printable(text: str) -> str:
    """A value as a terminal may show it: what it would obey, or not show, is escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
