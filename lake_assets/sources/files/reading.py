"""Lines of files as rows of the source, in a task of Spark's or elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.model.files_source import LISTING, FilesSource
from lake_assets.model.origins import PROBLEM
from lake_assets.sources.files.cutting import NOWHERE, Numbers, Rows
from lake_assets.sources.files.file_formats import FORMATS
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.measuring import Cut
from lake_assets.sources.files.opening import BadFileError
from lake_assets.sources.files.place import FilePlace, Present
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


def read_part(place: FilePlace, cut: Cut, part: Part) -> Iterator[pa.RecordBatch]:
    """The rows of a part, `COLUMNS`, some at a time.

    What cannot be read of it is a row without value, at the first line that is missing; with it the
    part ends. So do lines that are not there though they were counted.

    Raises:
        OSError: the disk does not give the file.
        SourceError: neither is the file there, nor its folder or the archive: a disk is away. Or
            the bucket does not give it.
    """
    entry, reached, cut = part.entry, part.start, cut.as_counted(part.entry.counted_as)
    if entry.problem:
        yield _problem_row(part, reached, entry.problem)
        return
    present = place.find(entry)
    if present is None:
        place.ensure_all()
        present = place.find(entry)  # what was away for a moment is there again
    problem = _not_as_found(entry, present)
    if present is None or problem:
        yield _problem_row(part, reached, problem)
        return
    read = FORMATS[cut.source.format].rows
    try:
        for rows, come in read(cut, entry, part.start, part.end, present.open):
            reached = max(part.start, min(part.end, come))
            yield from _batches(part, rows)
    except (BadFileError, FileNotFoundError) as why:
        if isinstance(why, FileNotFoundError):
            place.ensure_all()
        told = "vanished while it was read" if isinstance(why, FileNotFoundError) else str(why)
        yield _problem_row(part, reached, told)
        return
    if reached < part.end:
        told = f"has {reached} lines, and had {entry.lines} when it was found"
        yield _problem_row(part, reached, told)


def _not_as_found(entry: Entry, now: Present | None) -> str:
    """Why a file cannot be read as it was found; of one that grew, what there was of it can."""
    if now is None:
        return _VANISHED
    if now.is_as_found:
        return ""
    is_other = now.size <= entry.file.size
    if not is_other and entry.sample:
        try:
            is_other = sample_of(now.open, entry.file.size) != entry.sample
        except FileNotFoundError:
            return _VANISHED
        except BadFileError as problem:
            return str(problem)
    return "was rewritten after it was found, and before it was read" if is_other else ""


def _batches(part: Part, rows: Rows) -> Iterator[pa.RecordBatch]:
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
            _places(rows.positions[at:until]),
            problems,
        )
        at = until


def _places(positions: Numbers) -> pa.Array:
    return pa.array(positions, mask=positions == NOWHERE)


def _batch(
    entry: Entry,
    values: list[bytes | None],
    lines: Numbers,
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
    return _batch(part.entry, [None], at, pa.nulls(1, pa.int64()), [told])
