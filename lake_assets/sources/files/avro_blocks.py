"""Files of Avro as a source: a container's records counted block by block, and cut out of them.

A record is kept in Avro's single-object encoding, so that bronze tells by itself whose schema it
is; the schemas are in the index (`written_schemas`).
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from lake_assets.sources.files.avro_codecs import BadBlockError, expand
from lake_assets.sources.files.avro_container import (
    MOST_BLOCK,
    Block,
    Header,
    blocks,
    in_words,
    read_header,
)
from lake_assets.sources.files.avro_records import Walk, WalkError, walk_of
from lake_assets.sources.files.cutting import MOST_BYTES, NOWHERE, TOO_LONG, Rows
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.measuring import MARK_BYTES, Cut, Measured
from lake_assets.sources.files.opening import BadFileError, Opener, is_plain, opened

_PIECE = 8_192
"""Records that are cut out at once."""

_Piece: TypeAlias = tuple[list[bytes | None], dict[int, str], list[int]]
"""Values, problems and positions of some records."""


def measure_avro(cut: Cut, name: str, file: Opener, size: int) -> Measured:
    """How many records the blocks say they have: `file_formats.FileFormat.measure`.

    Where the file is damaged or cut off it has one row more, which says so when it is read.
    """
    records, marks, marked = 0, list[tuple[int, int]](), 0
    with opened(cut.source, name, file, size) as stream:
        header = read_header(stream)
        _walk(header)
        try:
            for block in blocks(stream, header, position=header.size):
                if block.position - marked >= MARK_BYTES and block.first:
                    marks.append((block.first, block.position))
                    marked = block.position
                records = block.first + block.count
        except BadFileError:
            if not records:
                raise
            records += 1
    marks = marks if is_plain(cut.source, name) else []
    return Measured(lines=records, marks=marks, schema=header.schema)


def read_avro(
    cut: Cut, entry: Entry, start: int, end: int, file: Opener
) -> Iterator[tuple[Rows, int]]:
    """The records, a block's at a time: `file_formats.FileFormat.rows`."""
    source, name, size = cut.source, entry.file.name, entry.file.size
    with opened(source, name, file, size) as stream:
        header = read_header(stream)
    has_positions = is_plain(source, name) and header.codec == "null"
    cutter = _Cutter(header, _walk(header), has_positions=has_positions)
    first, position = max((m for m in entry.marks if m[0] <= start), default=(0, header.size))
    skipped = position if is_plain(source, name) else 0
    with opened(source, name, file, size, position=skipped) as stream:
        if not skipped:
            read_header(stream)

        def wants(first: int, count: int) -> bool:
            return first < end and first + count > start

        for block in blocks(stream, header, position=position, first=first, wants=wants):
            reached = block.first + block.count
            if reached > start and block.count:
                yield from cutter.rows(block)
            if reached >= end:
                return


def _walk(header: Header) -> Walk:
    try:
        return walk_of(header.schema)
    except RecursionError as problem:
        raise BadFileError("has a schema that is nested too deeply") from problem
    except (KeyError, TypeError, ValueError) as problem:
        # What fastavro lets pass.
        raise BadFileError(f"has a schema that is none ({in_words(problem)})") from problem


class _Cutter:
    """Cuts a container's blocks into records."""

    def __init__(self, header: Header, walk: Walk, *, has_positions: bool) -> None:
        self._codec, self._prefix = header.codec, header.prefix
        self._walk, self._has_positions = walk, has_positions

    def rows(self, block: Block) -> Iterator[tuple[Rows, int]]:
        """Some at a time; one in place of all that cannot be told from each other."""
        done, end = 0, block.first + block.count
        try:
            for values, problems, positions in self._pieces(block, self._data(block)):
                yield self._placed(block.first + done, values, problems, positions), end
                done += len(values)
        except BadBlockError as problem:
            told = {0: f"the block at byte {block.position} {problem}"}
            yield self._placed(block.first + done, [None], told, [NOWHERE]), end

    def _data(self, block: Block) -> bytes:
        if block.data is not None:
            return expand(self._codec, block.data)
        most = f"{MOST_BLOCK // 1024 // 1024} MiB"
        raise BadBlockError(f"has {block.size:,} bytes, and {most} are the most")

    def _pieces(self, block: Block, data: bytes) -> Iterator[_Piece]:
        values, problems, positions, at = list[bytes | None](), dict[int, str](), list[int](), 0
        for number in range(block.count):
            try:
                end = self._end(data, at, number, block.count)
            except BadBlockError:
                if values:
                    yield values, problems, positions
                raise
            if end - at > MOST_BYTES:
                problems[len(values)] = TOO_LONG
            values.append(None if end - at > MOST_BYTES else self._prefix + data[at:end])
            positions.append(block.data_position + at)
            at = end
            if len(values) == _PIECE:
                yield values, problems, positions
                values, problems, positions = [], {}, []
        if values:
            yield values, problems, positions

    def _end(self, data: bytes, at: int, number: int, count: int) -> int:
        """Where the record ends that begins at a byte; the last one ends where the block does."""
        try:
            end, why = self._walk(data, at), ""
        except IndexError:
            end, why = len(data) + 1, ""
        except WalkError as problem:
            end, why = at, str(problem)
        except RecursionError:
            end, why = at, "it is nested too deeply"
        if end > len(data):
            why = "its bytes end"
        elif end == at:
            why = why or "it has no bytes"
        elif number + 1 == count and end < len(data):
            why = f"{len(data) - end:,} bytes follow it"
        if why:
            told = f"is damaged in record {number + 1:,} of {count:,}"
            raise BadBlockError(f"{told}: {why}; nothing of it from there on can be read")
        return end

    def _placed(
        self,
        first: int,
        values: list[bytes | None],
        problems: dict[int, str],
        positions: list[int],
    ) -> Rows:
        places = positions if self._has_positions else [NOWHERE] * len(values)
        return Rows(
            values=values,
            lines=first + np.arange(len(values), dtype=np.int64),
            positions=np.array(places, np.int64),
            problems=problems,
        )
