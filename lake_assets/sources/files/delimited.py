"""Files of messages that each follow their length, as `writeDelimitedTo` of protobuf writes them.

A varint, then so many bytes. What is in a message is not read: it may be of another format.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lake_assets.sources.files.cutting import CHUNK_BYTES, MOST_BYTES, NOWHERE, TOO_LONG, Rows
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.measuring import MARK_BYTES, Cut, Measured
from lake_assets.sources.files.opening import BadFileError, Opener, Reading, is_plain, opened

_LONGEST = 10
"""Bytes of a varint of 64 bits."""

_MORE = 0x80
"""Bit of a varint's byte that says that another follows."""


def measure_delimited(cut: Cut, name: str, file: Opener, size: int) -> Measured:
    """How many messages there are: `file_formats.FileFormat.measure`.

    Where the file is cut off or damaged it has one row more, which says so when it is read.
    """
    marks, marked = list[tuple[int, int]](), 0
    with opened(cut.source, name, file, size) as stream:
        messages = Messages(stream)
        try:
            for _ in messages:
                if messages.position - marked >= MARK_BYTES:
                    marked = messages.position
                    marks.append((messages.number, marked))
        except BadFileError:
            if not messages.number:
                raise
            lines, marks = messages.number + 1, _marks(cut, name, marks)
            return Measured(lines=lines, marks=marks, schema=cut.schema)
    marks = [mark for mark in marks if mark[0] < messages.number]
    lines, marks = messages.number, _marks(cut, name, marks)
    return Measured(lines=lines, marks=marks, schema=cut.schema)


def _marks(cut: Cut, name: str, marks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return marks if is_plain(cut.source, name) else []


def read_delimited(
    cut: Cut, entry: Entry, start: int, end: int, file: Opener
) -> Iterator[tuple[Rows, int]]:
    """The messages, some at a time: `file_formats.FileFormat.rows`."""
    source, name = cut.source, entry.file.name
    number, position = max((m for m in entry.marks if m[0] <= start), default=(0, 0))
    with opened(source, name, file, entry.file.size, position=position) as stream:
        messages = Messages(stream, number, position, has_positions=is_plain(source, name))
        for rows in messages:
            yield _framed(rows, cut.framing), messages.number
            if messages.number >= end:
                return


def _framed(rows: Rows, framing: bytes) -> Rows:
    """With the framing of messages that have none in their file."""
    if not framing:
        return rows
    values = [None if value is None else framing + value for value in rows.values]
    return replace(rows, values=values)


@dataclass
class Messages:
    """Cuts a stream into messages."""

    stream: Reading
    number: int = 0
    """Of the next message, from 0."""

    position: int = 0
    """The byte that comes next: where the next message's length begins."""

    has_positions: bool = True

    _rest: bytes = b""
    """What was read of it and of those behind it."""

    def __iter__(self) -> Iterator[Rows]:
        """The messages, those of a chunk at a time, as long as there are such.

        Raises:
            BadFileError: the stream goes on with something else, or is cut off.
        """
        lacking = 0
        while chunk := self._read(lacking):
            self._rest += chunk
            values, positions = self._whole()
            if values:
                yield self._rows(values, positions)
            length, start = self._next()
            lacking = start + length - len(self._rest)
            if length > MOST_BYTES:
                self._pass_over(start + length - len(self._rest))
                place = self.position + start
                self.position, self._rest, lacking = place + length, b"", 0
                yield self._rows([None], [place])
        if self._rest:
            raise BadFileError(f"is cut off in the message at byte {self.position}")

    def _read(self, lacking: int) -> bytes:
        """A chunk, or what a message lacks that has more: put together once, however long it is."""
        parts, size = [self.stream.read(CHUNK_BYTES)], CHUNK_BYTES
        while size < lacking and parts[-1]:
            parts.append(self.stream.read(CHUNK_BYTES))
            size += CHUNK_BYTES
        return b"".join(parts)

    def _whole(self) -> tuple[list[bytes | None], list[int]]:
        """The messages that are whole, and their first bytes."""
        values, positions, at = list[bytes | None](), list[int](), 0
        data = self._rest
        while (found := _varint(data, at)) is not None:
            length, start = found
            if length < 0 or start + length > len(data):
                break
            positions.append(self.position + start)
            at = start + length
            values.append(data[start:at])
            if length > MOST_BYTES:
                values[-1] = None
        self._rest = data[at:]
        self.position += at
        return values, positions

    def _next(self) -> tuple[int, int]:
        """Length and begin of the message that is not whole; nothing of one whose length is not.

        Raises:
            BadFileError: there is no length.
        """
        length, start = _varint(self._rest, 0) or (0, 0)
        if length < 0:
            raise BadFileError(f"has no message at byte {self.position}, but a length of 64 bits")
        return length, start

    def _pass_over(self, size: int) -> None:
        begin = self.position
        while size:
            part = self.stream.read(min(size, CHUNK_BYTES))
            if not part:
                raise BadFileError(f"is cut off in the message at byte {begin}")
            size -= len(part)

    def _rows(self, values: list[bytes | None], positions: list[int]) -> Rows:
        first, count = self.number, len(values)
        self.number += count
        places = positions if self.has_positions else [NOWHERE] * count
        return Rows(
            values=values,
            lines=first + np.arange(count, dtype=np.int64),
            positions=np.array(places, np.int64),
            problems={at: TOO_LONG for at, value in enumerate(values) if value is None},
        )


def _varint(data: bytes, at: int) -> tuple[int, int] | None:
    """A number and the position after it; None if it breaks off, and -1 of one that is too long."""
    value = 0
    for place in range(_LONGEST):
        if at + place >= len(data):
            return None
        octet = data[at + place]
        value |= (octet & 0x7F) << (7 * place)
        if octet < _MORE:
            return (value if value < 2**63 else -1), at + place + 1
    return -1, at
