"""Looking for values in one file, whatever it is: its bytes, its columns, and what is packed in it.

Parquet is decoded: all columns, and what its dictionaries have that no row does. Archives and
compressed files are unpacked, and what is in them is looked at likewise. In bounded memory.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.erasure.scan_log import in_entries
from lake_assets.erasure.screen import Screen
from lake_assets.erasure.sought import Sought, as_text, as_texts, has_bytes, is_binary
from lake_assets.erasure.unpack import UnreadableError, unpacked

_PIECE = 8 << 20
"""Bytes that are looked through at once."""

_DEPTH = 4
"""Of archives in archives."""

_ROWS = 16_384
"""Of Parquet decoded at once: payloads of 10 kB take 160 MB."""

_SQLITE = b"SQLite format 3\x00"
_DUCKDB = slice(8, 12)

Found: TypeAlias = Callable[[str, set[int]], None]
"""Told where in the file values are, and which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    """Looks through one file."""

    sought: Sought
    screen: Screen
    found: Found
    is_log: bool = False
    """Whether the file is one of a table's log."""

    def run(self, source: pa.NativeFile, name: str) -> int:
        """Look through a file; how many rows it has, if it is Parquet.

        Raises:
            UnreadableError: it was looked at as bytes, but not at what is packed in it.
            OSError: it cannot be read.
        """
        return self._file(source, name, "", 0)

    def _file(self, source: pa.NativeFile, name: str, inside: str, depth: int) -> int:
        size = source.size()
        head, tail = source.read_at(min(size, 512), 0), source.read_at(4, max(0, size - 4))
        if head[:4] == b"PAR1" == tail and size > len(tail):
            self._bytes(source, size, inside)
            return self._rows(source, inside, is_log=self.is_log or "checkpoint" in name)
        if name.endswith(".json") and (self.is_log or name[:20].isdecimal()):
            self._entries(source, inside)
            return 0
        self._bytes(source, size, inside)
        if head[_DUCKDB] == b"DUCK":
            raise UnreadableError("is a database of DuckDB")
        source.seek(0)
        for part, content in unpacked(source, head):
            if depth == _DEPTH:
                raise UnreadableError("is packed too often")
            self._file(pa.BufferReader(content), part, f"{inside}{part}: ", depth + 1)
        return 0

    def _tell(self, where: str, values: set[int]) -> None:
        if values:
            self.found(where, values)

    def _texts(self, where: str, texts: pa.Array, *, are_payloads: bool = False) -> None:
        def look() -> None:
            self._tell(where, self.sought.in_texts(texts, are_payloads=are_payloads))

        self.screen.add(texts, look, are_payloads=are_payloads)

    def _bytes(self, source: pa.NativeFile, size: int, inside: str) -> None:
        overlap = self.sought.overlap
        for at in range(0, size, _PIECE):
            start = max(0, at - overlap)
            piece = source.read_at(min(size, at + _PIECE) - start, start)
            self._texts(f"{inside}its bytes", as_text(piece))

    def _entries(self, source: pa.NativeFile, inside: str) -> None:
        source.seek(0)
        for lines in _lines(source):
            self._log(f"{inside}an entry", lines)

    def _log(self, where: str, lines: Sequence[bytes]) -> None:
        def look() -> None:
            self._tell(where, in_entries(self.sought, lines))

        if self.sought.has_short_numbers:
            look()
        else:
            self.screen.add(pa.array(lines, pa.large_binary()), look)

    def _rows(self, source: pa.NativeFile, inside: str, *, is_log: bool) -> int:
        source.seek(0)
        try:
            metadata = pq.read_metadata(source)
            whole = pq.ParquetFile(source, read_dictionary=_dictionaries(metadata))
            seen: dict[str, tuple[int, int]] = {}
            for batch in whole.iter_batches(_ROWS, use_threads=False):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    for path, leaf in _leaves(name, column):
                        # One dictionary comes with each batch of a row group.
                        last = leaf.buffers()[-1]
                        place = (0 if last is None else last.address, len(leaf))
                        if seen.get(path) != place:
                            self._column(path, leaf, inside, is_log=is_log)
                        seen[path] = place if pa.types.is_dictionary(column.type) else (0, 0)
        except pa.ArrowException as problem:
            reason = f"cannot be decoded ({str(problem).splitlines()[0]})"
            raise UnreadableError(reason) from problem
        rows: int = metadata.num_rows
        return rows

    def _column(self, path: str, leaf: pa.Array, inside: str, *, is_log: bool) -> None:
        where = f"{inside}column {path}"
        if is_log and path.rpartition(".")[2] == "stats":
            self._log(where, leaf.drop_null().cast(pa.large_binary()).to_pylist())
            return
        if is_log and pa.types.is_integer(leaf.type) and "Values" not in path:
            return  # sizes and times
        self._tell(where, self.sought.as_whole(leaf, path))
        if has_bytes(leaf.type):
            self._texts(where, as_texts(leaf), are_payloads=is_binary(leaf.type))


def _lines(source: pa.NativeFile) -> Iterator[list[bytes]]:
    """Whole lines, some MB at once."""
    rest = b""
    while piece := source.read(_PIECE):
        *whole, rest = (rest + piece).split(b"\n")
        yield whole
    yield [rest]


def _dictionaries(metadata: pq.FileMetaData) -> list[str]:
    """Columns whose dictionaries are read as they are: a value that no row has may be in one."""
    if not metadata.num_row_groups:
        return []
    group = metadata.row_group(0)
    columns = (group.column(at) for at in range(group.num_columns))
    return [
        column.path_in_schema
        for column in columns
        if column.physical_type == "BYTE_ARRAY" and column.has_dictionary_page
    ]


def _leaves(name: str, column: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """The arrays of plain values that a column is made of, and what each is called."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        yield from _leaves(name, column.dictionary)
    elif pa.types.is_struct(kind):
        for at, field in enumerate(kind):
            yield from _leaves(f"{name}.{field.name}", column.field(at))
    elif pa.types.is_map(kind):
        yield from _leaves(f"{name}.key", column.keys)
        yield from _leaves(f"{name}.value", column.items)
    elif hasattr(column, "flatten"):  # lists of any kind
        yield from _leaves(name, column.flatten())
    elif not pa.types.is_null(kind):
        yield name, column


def rows_of_sqlite(path: str) -> Iterator[tuple[str, pa.Array]]:
    """All that the tables of a SQLite database have in rows, as bytes, by table.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        names = "select name from sqlite_master where type = 'table'"
        for (table,) in database.execute(names).fetchall():
            quoted = table.replace('"', '""')
            rows = database.execute(f'select * from "{quoted}"')  # noqa: S608 - a name it has
            while some := rows.fetchmany(1000):
                cells = (cell for row in some for cell in row if isinstance(cell, str | bytes))
                packed = [cell.encode() if isinstance(cell, str) else cell for cell in cells]
                yield table, pa.array(packed, pa.large_binary())
    finally:
        database.close()
