"""Rows of files of text, read from where a reader may begin: lines, records of CSV, elements."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lake_assets.sources.files.cutting import NOWHERE, Lines, Rows, elements
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.measuring import Cut
from lake_assets.sources.files.opening import Opener, is_plain, opened


def read_lines(
    cut: Cut, entry: Entry, start: int, end: int, file: Opener
) -> Iterator[tuple[Rows, int]]:
    """The rows of lines, or of records of CSV: `file_formats.FileFormat.rows`."""
    source, name = cut.source, entry.file.name
    has_positions, line, position = is_plain(source, name), 0, 0
    if has_positions:
        before = (mark for mark in entry.marks if mark[0] <= start)
        line, position = max(before, default=(0, 0))
    with opened(source, name, file, entry.file.size, position=position) as stream:
        lines = Lines(stream, line=line, position=position, quoting=cut.quoting)
        for rows in lines:
            own = _without_header(rows) if cut.header and line == 0 else rows
            line = lines.line
            yield own if has_positions else _nowhere(own), lines.line
            if not lines.is_open and lines.line >= end:
                return


def read_document(
    cut: Cut, entry: Entry, start: int, end: int, file: Opener
) -> Iterator[tuple[Rows, int]]:
    """The elements of a document of JSON, all at once: `file_formats.FileFormat.rows`."""
    del start, end
    with opened(cut.source, entry.file.name, file, entry.file.size) as stream:
        rows = elements(stream)
    yield rows if is_plain(cut.source, entry.file.name) else _nowhere(rows), len(rows.values)


def _nowhere(rows: Rows) -> Rows:
    return replace(rows, positions=np.full(len(rows.values), NOWHERE, np.int64))


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
