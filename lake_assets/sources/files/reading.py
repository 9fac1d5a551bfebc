"""Lines of files as rows of the source, in a task of Spark's or elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.model.files_source import LISTING, FilesSource
from lake_assets.model.origins import PROBLEM
from lake_assets.sources.files.cutting import Lines, Rows, elements
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.listing import look
from lake_assets.sources.files.measuring import Cut
from lake_assets.sources.files.opening import BadFileError, is_plain, opened
from lake_assets.sources.files.samples import sample_of

COLUMNS = pa.schema(
    [
        pa.field("value", pa.binary()),
        *origin_schema(FilesSource.origin),
        pa.field(PROBLEM, pa.string()),
    ]
)
"""What bronze has of a row."""

_VANISHED = "vanished before it was read"

_ROWS = 8_192
_BYTES = 8 * 1024 * 1024
"""Of rows that are handed over at once, about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Some lines of a file."""

    entry: Entry
    start: int
    """The first, from 0."""

    end: int
    """The one after the last."""


def read_part(cut: Cut, part: Part) -> Iterator[pa.RecordBatch]:
    """The rows of a part, `COLUMNS`, some at a time.

    What cannot be read of it is a row without value, at the first line that is missing; with it the
    part ends. So do lines that are not there though they were counted.

    Raises:
        OSError: the disk does not give the file.
    """
    entry, reached, cut = part.entry, part.start, cut.as_counted(part.entry.counted_as)
    if entry.problem:
        yield _problem_row(part, reached, entry.problem)
        return
    path = place_of(cut.source, entry)
    problem = _not_as_found(entry, path)
    if problem:
        yield _problem_row(part, reached, problem)
        return
    has_positions = is_plain(cut.source, entry.file.name)
    try:
        for rows, reached in _rows_of(cut, part, path):  # noqa: B007 - how far it came
            yield from _batches(part, rows, has_positions=has_positions)
    except (BadFileError, FileNotFoundError) as why:
        told = "vanished while it was read" if isinstance(why, FileNotFoundError) else str(why)
        yield _problem_row(part, reached, told)
        return
    if reached < part.end:
        told = f"has {reached} lines, and had {entry.lines} when it was found"
        yield _problem_row(part, reached, told)


def place_of(source: FilesSource, entry: Entry) -> str:
    """Where a file is now: in its folder, or, if it is as it was found there, in the archive."""
    name = entry.file.name
    path = Path(source.path, name)
    places = (path, *(archived(source.archive, entry) if source.archive else ()))
    return str(next((place for place in places if look(place, name) == entry.file), path))


def archived(archive: str, entry: Entry) -> tuple[Path, Path]:
    """Where a file is in the archive: under its name, or where that was taken, with its offset."""
    plain = Path(archive, entry.file.name)
    return plain, plain.with_name(f"{plain.name}.{entry.first}")


def _not_as_found(entry: Entry, path: str) -> str:
    was, now = entry.file, look(path, entry.file.name)
    if now is None:
        return _VANISHED
    is_other = now.size < was.size or (now.size == was.size and now.modified_ns != was.modified_ns)
    if now.size > was.size and entry.sample:
        try:
            is_other = sample_of(path, was.size) != entry.sample
        except FileNotFoundError:
            return _VANISHED
    # Of one that grew, what there was of it is read.
    return "was rewritten after it was found, and before it was read" if is_other else ""


def _rows_of(cut: Cut, part: Part, path: str) -> Iterator[tuple[Rows, int]]:
    """The rows of a part, and which line comes next."""
    entry, source = part.entry, cut.source
    if source.format == "json":
        with opened(source, entry.file.name, path, entry.file.size) as stream:
            rows = elements(stream)
        yield rows, max(part.start, min(part.end, len(rows.values)))
        return
    line, position = 0, 0
    if is_plain(source, entry.file.name):
        before = (mark for mark in entry.marks if mark[0] <= part.start)
        line, position = max(before, default=(0, 0))
    with opened(source, entry.file.name, path, entry.file.size, position=position) as stream:
        lines = Lines(stream, line=line, position=position, quoting=cut.quoting)
        for rows in lines:
            if cut.header and line == 0:
                rows = _without_header(rows)  # noqa: PLW2901 - of the first rows alone
            line = lines.line
            yield rows, max(part.start, min(part.end, lines.line))
            if not lines.is_open and lines.line >= part.end:
                return


def _without_header(rows: Rows) -> Rows:
    has = bool(len(rows.lines)) and rows.lines[0] == 0
    if not has:
        return rows
    problems = {at - 1: why for at, why in rows.problems.items() if at}
    return Rows(
        values=rows.values[1:],
        lines=rows.lines[1:],
        positions=rows.positions[1:],
        problems=problems,
    )


def _batches(part: Part, rows: Rows, *, has_positions: bool) -> Iterator[pa.RecordBatch]:
    """Those of some rows that are in a part."""
    first, end = (int(at) for at in np.searchsorted(rows.lines, [part.start, part.end]))
    at = first
    while at < end:
        size, until = 0, at
        while until < end and until - at < _ROWS and size < _BYTES:
            size += len(rows.values[until] or b"")
            until += 1
        problems = [rows.problems.get(n) for n in range(at, until)] if rows.problems else None
        yield _batch(
            part.entry,
            rows.values[at:until],
            rows.lines[at:until],
            pa.array(rows.positions[at:until]) if has_positions else _nowhere(until - at),
            problems,
        )
        at = until


def _nowhere(count: int) -> pa.Array:
    return pa.nulls(count, pa.int64())


def _batch(
    entry: Entry,
    values: list[bytes | None],
    lines: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    positions: pa.Array,
    problems: list[str | None] | None,
) -> pa.RecordBatch:
    count = len(values)
    modified = pa.scalar(entry.file.modified_ns // 1000, pa.timestamp("us", tz="UTC"))
    arrays = [
        pa.array(values, pa.binary()),
        pa.repeat(pa.scalar(LISTING), count),
        pa.array(lines + entry.first),
        pa.repeat(modified, count),
        pa.repeat(pa.scalar(entry.file.name), count),
        pa.array(lines + 1),
        positions,
        pa.nulls(count, pa.string()) if problems is None else pa.array(problems, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)


def _problem_row(part: Part, line: int, problem: str) -> pa.RecordBatch:
    at = np.array([min(line, part.end - 1)], dtype=np.int64)
    told = f"file {part.entry.file.name}: {problem}"
    return _batch(part.entry, [None], at, _nowhere(1), [told])
