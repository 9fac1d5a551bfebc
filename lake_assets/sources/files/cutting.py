"""A file's stream cut into rows, each with its line and first byte. What is in one is not read.

Lines are counted and cut alike, so that a number means the same line whenever it is read. A record
of CSV may have several, between quotes: it has the number of its first one.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from lake_assets.sources.files.opening import BadFileError, Reading

CHUNK_BYTES = 1024 * 1024

MOST_BYTES = 64 * 1024 * 1024
"""Of a row. A longer one is a row without value that says so."""

MOST_DOCUMENT = 256 * 1024 * 1024
"""Bytes of a file that is read as one document: it is in memory some times over."""

BOM = b"\xef\xbb\xbf"

Numbers = npt.NDArray[np.int64]

NOWHERE = -1
"""In place of the first byte of a row that has none in its file, as one is that was compressed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Some rows of a file."""

    values: list[bytes | None]
    lines: Numbers
    """Of each, the number of its line or element in the file, from 0."""

    positions: Numbers
    """Of each, its first byte in the stream, or `NOWHERE`."""

    problems: dict[int, str] = field(default_factory=dict)
    """By place in `values` of those without a value, why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quoting:
    """By what a record of CSV has several lines, and fields."""

    quote: bytes
    escape: bytes = b""
    delimiter: bytes = b","


@dataclass
class Lines:
    """Cuts a stream at its ends of lines. Lines without anything in them are no rows."""

    stream: Reading
    line: int = 0
    """The number of the next line."""

    position: int = 0
    """The byte that comes next."""

    quoting: Quoting | None = None

    _rest: bytes = b""
    """The begin of a line, whose end has not come."""

    _is_too_long: bool = False
    """Whether that line's begin was dropped for its length."""

    _record: "_Record | None" = None

    def __post_init__(self) -> None:
        """Put lines together where there are quotes."""
        if self.quoting is not None and self.quoting.quote:
            self._record = _Record(self.quoting)

    @property
    def is_open(self) -> bool:
        """Whether a record has begun whose end has not come."""
        return self._record is not None and bool(self._record.lines)

    def __iter__(self) -> Iterator[Rows]:
        """The rows, a chunk's at a time."""
        chunk = self.stream.read(CHUNK_BYTES)
        if self.position == 0 and chunk.startswith(BOM):
            chunk, self.position = chunk[len(BOM) :], len(BOM)
        while chunk:
            yield self._cut(chunk)
            chunk = self.stream.read(CHUNK_BYTES)
        if self._rest or self._is_too_long:
            yield self._cut(b"\n")
        if self._record is not None and self._record.lines:
            yield self._record.rest()

    def _cut(self, chunk: bytes) -> Rows:
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        lengths = np.fromiter(map(len, lines), np.int64, len(lines)) + 1
        positions = self.position + np.cumsum(lengths) - lengths
        numbers = self.line + np.arange(len(lines), dtype=np.int64)
        self.line += len(lines)
        self.position += int(lengths.sum())
        found: list[bytes | None] = [*lines]
        problems: dict[int, str] = {}
        if lines and self._is_too_long:
            found[0], problems[0], self._is_too_long = None, TOO_LONG, False
        if len(self._rest) > MOST_BYTES:
            # What is dropped of it is counted, so that the lines behind it have their places.
            self.position += len(self._rest)
            self._rest, self._is_too_long = b"", True
        cut = Rows(values=found, lines=numbers, positions=positions, problems=problems)
        whole = cut if self._record is None else self._record.put_together(cut)
        return _rows(whole, self.quoting.delimiter if self.quoting is not None else b"")


@dataclass
class _Record:
    """Puts lines of CSV together to records; some of one may have come before."""

    quoting: Quoting
    lines: list[bytes] = field(default_factory=list)
    """Of a record whose last quote has not come."""

    _first: tuple[int, int] = (0, 0)
    _size: int = 0
    _is_quoted: bool = False

    def put_together(self, cut: Rows) -> Rows:
        """The records that end in some lines."""
        if not self.lines and not any(self.quoting.quote in line for line in cut.values if line):
            return cut
        values: list[bytes | None] = []
        firsts: list[tuple[int, int]] = []
        problems: dict[int, str] = {}
        for at, line in enumerate(cut.values):
            if not self.lines:
                self._first, self._size = (int(cut.lines[at]), int(cut.positions[at])), 0
            problem = cut.problems.get(at) or self._add(line or b"")
            if problem:
                problems[len(values)] = problem
                values.append(None)
            elif self._is_quoted:
                continue
            else:
                values.append(b"\n".join(self.lines))
            firsts.append(self._first)
            self.lines, self._is_quoted = [], False
        return _placed(values, firsts, problems)

    def rest(self) -> Rows:
        """A record whose last quote is missing: all that is left of the file."""
        values: list[bytes | None] = [b"\n".join(self.lines)]
        self.lines = []
        return _placed(values, [self._first], {})

    def _add(self, line: bytes) -> str:
        """Add a line; what is wrong with the record, if something is."""
        self.lines.append(line)
        self._size += len(line) + 1
        self._is_quoted ^= _quotes(line, self.quoting) % 2 == 1
        return TOO_LONG if self._size > MOST_BYTES else ""


def _placed(
    values: list[bytes | None], firsts: list[tuple[int, int]], problems: dict[int, str]
) -> Rows:
    places = np.array(firsts, dtype=np.int64).reshape(-1, 2)
    return Rows(values=values, lines=places[:, 0], positions=places[:, 1], problems=problems)


TOO_LONG = f"is longer than {MOST_BYTES // 1024 // 1024} MiB"


def _quotes(line: bytes, quoting: Quoting) -> int:
    if quoting.escape:
        line = re.sub(re.escape(quoting.escape) + b".", b"", line, flags=re.DOTALL)
    return line.count(quoting.quote)


_BLANK = b" \t\n\r\x0b\f"


def _rows(rows: Rows, delimiter: bytes) -> Rows:
    """Without the ends of lines, and without values that have nothing else.

    A line of delimiters alone is a record of empty fields, also where a tab or a space is one.
    """
    blank = _BLANK.replace(delimiter, b"") if delimiter else _BLANK
    cut = [value[:-1] if value and value.endswith(b"\r") else value for value in rows.values]
    kept = np.fromiter((v is None or bool(v.strip(blank)) for v in cut), np.bool_, len(cut))
    places = np.flatnonzero(kept)
    told = {n: rows.problems[at] for n, at in enumerate(places.tolist()) if at in rows.problems}
    return Rows(
        values=cut if len(places) == len(cut) else [cut[at] for at in places],
        lines=rows.lines[places],
        positions=rows.positions[places],
        problems=told,
    )


def elements(stream: Reading) -> Rows:
    """The elements of the arrays, and the objects, of a document of JSON.

    Raises:
        BadFileError: it is none, or too large to be read as one.
    """
    content = _whole(stream)
    begin = len(BOM) if content.startswith(BOM) else 0
    try:
        text = content[begin:].decode()
        spans = list(_spans(text))
    except UnicodeDecodeError as problem:
        raise BadFileError(f"is not UTF-8: {problem.reason} at byte {problem.start}") from problem
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise BadFileError(f"is no JSON: {problem.msg} ({where})") from problem
    except RecursionError as problem:
        raise BadFileError("is no JSON: it is nested too deep") from problem
    values: list[bytes | None] = [text[start:end].encode() for start, end in spans]
    too_long = [at for at, value in enumerate(values) if len(value or b"") > MOST_BYTES]
    for at in too_long:
        values[at] = None
    if text.isascii():
        positions = np.array([start for start, _ in spans], dtype=np.int64) + begin
    else:
        positions = _byte_places(text, [start for start, _ in spans]) + begin
    return Rows(
        values=values,
        lines=np.arange(len(values), dtype=np.int64),
        positions=positions,
        problems=dict.fromkeys(too_long, TOO_LONG),
    )


def _whole(stream: Reading) -> bytes:
    parts, size = [], 0
    while chunk := stream.read(CHUNK_BYTES):
        parts.append(chunk)
        size += len(chunk)
        if size > MOST_DOCUMENT:
            most = MOST_DOCUMENT // 1024 // 1024
            raise BadFileError(f"is larger than {most} MiB, which a document may be; use jsonl")
    return b"".join(parts)


_SPACE = re.compile(r"[ \t\r\n]*")


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """From where to where each element is.

    Raises:
        JSONDecodeError: it is no JSON.
    """
    # Numbers are not kept, and an integer of thousands of digits is no error to a float.
    decoder, at = json.JSONDecoder(parse_int=float), _after_space(text, 0)
    while at < len(text):
        if text[at] != "[":
            _, end = decoder.raw_decode(text, at)
            yield at, end
            at = _after_space(text, end)
            continue
        at = _after_space(text, at + 1)
        while text[at : at + 1] != "]":
            _, end = decoder.raw_decode(text, at)
            yield at, end
            at = _after_space(text, end)
            if text[at : at + 1] == ",":
                at = _after_space(text, at + 1)
                if text[at : at + 1] == "]":
                    raise json.JSONDecodeError("a value is missing after `,`", text, at)
            elif text[at : at + 1] != "]":
                raise json.JSONDecodeError("`,` or `]` is missing", text, at)
        at = _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _byte_places(text: str, starts: list[int]) -> Numbers:
    places, at, before = [], 0, 0
    for start in starts:
        at += len(text[before:start].encode())
        before = start
        places.append(at)
    return np.array(places, dtype=np.int64)
