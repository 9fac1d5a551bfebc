"""What the index of a feed's files says, a Delta table beside bronze: which offsets each file has.

A file's range is committed before its rows are read, and stands from then on. Rows of the table are
only added; where the last range ends is in the log as well, for whoever asks no more.
"""

import heapq
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.data_files import active_files, columns_of_file, read_file
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.model.tables import files_of
from lake_assets.sources.files.found import Found
from lake_assets.storage.store import Store

SCHEMA = pa.schema(
    [
        ("file", pa.string()),  # below the folder
        ("size", pa.int64()),
        ("modified_ns", pa.int64()),  # nanoseconds since 1970
        ("state", pa.string()),  # `found`, or how it is after it was found: `grown`, `rewritten`
        ("first", pa.int64()),  # its first offset; none unless it is `found`
        ("lines", pa.int64()),
        ("mark_lines", pa.list_(pa.int64())),
        ("mark_positions", pa.list_(pa.int64())),
        ("problem", pa.string()),  # why none of it is read
        ("sample", pa.string()),  # of its bytes: `sources.files.samples`
        ("counted_as", pa.string()),  # how its lines were told apart: `measuring.Cut.text`
        ("schema", pa.string()),  # of its rows, in the first file that brings it: `written_schemas`
        ("etag", pa.string()),  # what a bucket calls the content: `found.Found.etag`
        ("noticed_at", pa.timestamp("us", tz="UTC")),
    ]
)
"""Columns of `bronze_{feed}_files`."""

_OF_ENTRIES = tuple(name for name in SCHEMA.names if name not in {"noticed_at", "schema"})
"""Columns that an `Entry` is read from."""

_LATER = frozenset({"etag", "schema"})
"""Columns that files of the index may lack, which an earlier release wrote."""

_ROWS = 16_384
"""Of the index that are handed over at once: as Python's own they take twenty times as much."""

FOUND, GROWN, REWRITTEN = "found", "grown", "rewritten"

BAD = "bad"
"""Of files that were found, what those are called that cannot be read."""

STATES = (FOUND, BAD, GROWN, REWRITTEN)
"""What is counted: all files that were found, those of them that cannot be read, and how often one
was seen to have changed since."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A file that was found, with the offsets it has."""

    file: Found
    first: int
    lines: int
    marks: Sequence[tuple[int, int]] = ()
    problem: str = ""

    sample: str = ""
    """`samples.sample_of` its bytes; empty if none of it is read."""

    counted_as: str = ""
    """`measuring.Cut.text` of the feed when it was found: by this its lines have their numbers."""

    schema: str = ""
    """`measuring.Measured.schema` that the index does not have yet; empty once it is read back."""

    @property
    def end(self) -> int:
        """The offset after its last line."""
        return self.first + self.lines


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A file that is another than when it was found; it is not read again."""

    file: Found
    state: str
    """`grown` or `rewritten`."""

    noticed_at: datetime


def index_app(feed: str) -> str:
    """Under which the index numbers its own commits."""
    return f"lake_assets:files:{feed}"


def end_app(feed: str) -> str:
    """Under which it records the offset that the next file gets."""
    return f"lake_assets:files-end:{feed}"


def cleaned_app(feed: str) -> str:
    """Under which it records the offset before which all files were archived or deleted."""
    return f"lake_assets:files-cleaned:{feed}"


def table_id(handle: DeltaTable) -> int:
    """Half of the table's id, as a number that fits a transaction's version."""
    return (uuid.UUID(str(handle.metadata().id)).int >> 64) & (2**63 - 1)


def end_of(handle: DeltaTable, feed: str) -> int:
    """The offset that the next file gets."""
    return handle.transaction_version(end_app(feed)) or 0


def cleaned_until(handle: DeltaTable, feed: str) -> int:
    """The offset before which all files were archived or deleted."""
    return handle.transaction_version(cleaned_app(feed)) or 0


def rows_of_index(lake: Store, feed: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """What the index has, some rows at a time; nothing if there is none.

    Raises:
        LakeError: a file that the lake should have cannot be read.
    """
    table = files_of(feed)
    handle = open_table(lake, table)
    if handle is not None:
        log = log_of(lake, table)
        for file in active_files(handle):
            lacking = set(_LATER.intersection(columns))
            if lacking:
                lacking.difference_update(columns_of_file(log, file))
            rows = read_file(log, file, [name for name in columns if name not in lacking])
            for name in lacking:
                rows = rows.append_column(name, pa.nulls(rows.num_rows, SCHEMA.field(name).type))
            yield from (rows.slice(at, _ROWS) for at in range(0, rows.num_rows, _ROWS))


def entries_from(
    lake: Store, feed: str, offset: int, most: int, *, with_empty: bool = False
) -> list[Entry]:
    """The first files that have lines from an offset on, in their order.

    Args:
        lake: where the index is.
        feed: whose it is.
        offset: the offset.
        most: files at most.
        with_empty: whether files without lines are wanted as well, any number of which may stand
            before one offset: each has that which the next file begins with.

    Raises:
        LakeError: as `rows_of_index`.
    """
    later = (
        _entry(row)
        for rows in rows_of_index(lake, feed, _OF_ENTRIES)
        for row in rows.filter(
            pc.greater_equal(pc.add(rows["first"], rows["lines"]), offset)
        ).to_pylist()
        if row["state"] == FOUND
    )
    found = (entry for entry in later if entry.end > offset or (with_empty and not entry.lines))
    return heapq.nsmallest(most, found, key=lambda entry: (entry.first, entry.end))


def entry_of(lake: Store, feed: str, name: str) -> Entry | None:
    """A file, by its name below the folder; None if it was not found. Raises as `rows_of_index`."""
    for rows in rows_of_index(lake, feed, _OF_ENTRIES):
        for row in rows.filter(pc.equal(rows["file"], name)).to_pylist():
            if row["state"] == FOUND:
                return _entry(row)
    return None


def samples_of(lake: Store, feed: str, names: Collection[str]) -> dict[str, tuple[int, str]]:
    """Sizes and samples of some files when they were found; raises as `rows_of_index`."""
    wanted = pa.array(sorted(names), pa.string())
    found: dict[str, tuple[int, str]] = {}
    for rows in rows_of_index(lake, feed, ("file", "size", "state", "sample")):
        kept = rows.filter(pc.is_in(rows["file"], wanted))
        found |= {
            row["file"]: (row["size"], row["sample"] or "")
            for row in kept.to_pylist()
            if row["state"] == FOUND
        }
    return found


def counted_files(lake: Store, feed: str) -> dict[str, int]:
    """How many files there are by `STATES`; raises as `rows_of_index`."""
    counted = dict.fromkeys(STATES, 0)
    for rows in rows_of_index(lake, feed, ("state", "problem")):
        counted[BAD] += rows.num_rows - rows["problem"].null_count
        for state in (FOUND, GROWN, REWRITTEN):
            counted[state] += pc.sum(pc.equal(rows["state"], state), min_count=0).as_py()
    return counted


def changes_in(lake: Store, feed: str) -> list[Change]:
    """Files that were seen to have changed, in no order; raises as `rows_of_index`."""
    names = ("file", "size", "modified_ns", "etag", "state", "noticed_at")
    return [
        Change(
            file=found_of(row),
            state=row["state"],
            noticed_at=row["noticed_at"],
        )
        for rows in rows_of_index(lake, feed, names)
        for row in rows.to_pylist()
        if row["state"] != FOUND
    ]


def found_of(row: dict[str, Any]) -> Found:
    """The file that a row of the index is of, by its `file`, `size`, `modified_ns` and `etag`."""
    return Found(row["file"], row["size"], row["modified_ns"], row["etag"] or "")


def _entry(row: dict[str, object]) -> Entry:
    values: dict[str, list[int]] = {n: row[n] or [] for n in ("mark_lines", "mark_positions")}  # type: ignore[misc]
    marks = zip(values["mark_lines"], values["mark_positions"], strict=True)
    return Entry(
        file=found_of(row),
        first=row["first"],  # type: ignore[arg-type]
        lines=row["lines"],  # type: ignore[arg-type]
        marks=tuple(marks),
        problem=str(row["problem"] or ""),
        sample=str(row["sample"] or ""),
        counted_as=str(row["counted_as"] or ""),
    )
