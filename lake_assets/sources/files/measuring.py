"""How many offsets a file needs, found by reading it once; and where it may be begun."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.sources.files.cutting import BOM, CHUNK_BYTES, Lines, Quoting, elements
from lake_assets.sources.files.opening import BadFileError, Opener, Reading, is_plain, opened

MARK_BYTES = 16 * 1024 * 1024
"""About so far lie the places apart at which a large file may be begun. A batch ends at one of
them, and a task begins there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What is known of a file's content."""

    lines: int
    """Or elements, or the one row that tells of a problem."""

    marks: Sequence[tuple[int, int]] = ()
    """Numbers of lines, and their first bytes, where a reader may begin, growing; the begin of the
    file is none of them."""

    problem: str = ""
    """Why no row of it can be read."""

    schema: str = ""
    """Of its rows, where a file brings one: `written_schemas`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """How files of a feed are cut."""

    source: FilesSource
    quoting: Quoting | None = None
    header: tuple[str, ...] = ()
    """The names that a file begins with."""

    delimiter: str = ","

    framing: bytes = b""
    """What each message begins with in bronze that has no framing in its file."""

    schema: str = ""
    """Of such messages, as it is now."""

    @classmethod
    def of(cls, feed: Feed) -> "Cut":
        """As a feed declares its files, and what is in them."""
        source, record = feed.source.files, feed.payload.csv
        if source is None:
            raise TypeError(f"feed {feed.feed} reads no files")
        if source.format != "csv" or record is None:
            return cls(source=source)
        names = tuple(column.name for column in record.columns) if source.header else ()
        quoting = Quoting(
            quote=record.quote.encode(),
            escape=record.escape.encode(),
            delimiter=record.delimiter.encode(),
        )
        return cls(source=source, quoting=quoting, header=names, delimiter=record.delimiter)

    @property
    def text(self) -> str:
        """What tells a file's lines apart, as the index notes it."""
        told: dict[str, object] = self.source.model_dump(include=_TELLING) | {"header": self.header}
        if self.quoting is not None:
            marks = (self.quoting.quote, self.quoting.escape, self.quoting.delimiter)
            told["quoting"] = [mark.decode() for mark in marks]
        if self.framing:
            told["framing"] = self.framing.hex()
        return json.dumps(told, sort_keys=True, separators=(",", ":"))

    def as_counted(self, text: str) -> "Cut":
        """What a file is cut by that was counted by another declaration, by that one's `text`."""
        if text in {"", self.text}:
            return self
        told = json.loads(text)
        names = tuple(told.pop("header"))
        declared = {name: told[name] for name in _TELLING}
        source = self.source.model_copy(update={**declared, "header": bool(names)})
        if "quoting" not in told:
            framing = bytes.fromhex(told.get("framing", ""))
            return Cut(source=source, header=names, framing=framing)
        quote, escape, delimiter = told["quoting"]
        quoting = Quoting(
            quote=quote.encode(), escape=escape.encode(), delimiter=delimiter.encode()
        )
        return Cut(source=source, quoting=quoting, header=names, delimiter=delimiter)


_TELLING = {"format", "encoding", "compression"}


def measure_lines(cut: Cut, name: str, file: Opener, size: int) -> Measured:
    """A file of lines, or of records of CSV: `file_formats.FileFormat.measure`."""
    with opened(cut.source, name, file, size) as stream:
        return _lines(cut, stream, has_marks=is_plain(cut.source, name))


def measure_document(cut: Cut, name: str, file: Opener, size: int) -> Measured:
    """A file that is one document of JSON: `file_formats.FileFormat.measure`."""
    with opened(cut.source, name, file, size) as stream:
        return Measured(lines=len(elements(stream).values))


def _lines(cut: Cut, stream: Reading, *, has_marks: bool) -> Measured:
    first = stream.read(CHUNK_BYTES)
    if cut.header:
        _ensure_header(cut, first)
    has_marks = has_marks and not (cut.quoting and cut.quoting.escape)
    counting = _Counting(quote=cut.quoting.quote if cut.quoting else b"", has_marks=has_marks)
    chunk, last = first, b""
    while chunk:
        counting.add(chunk)
        last, chunk = chunk, stream.read(CHUNK_BYTES)
    unended = bool(last) and not last.endswith(b"\n") and not (last is first and first == BOM)
    return Measured(lines=counting.lines + unended, marks=counting.marks)


@dataclass
class _Counting:
    quote: bytes
    has_marks: bool
    lines: int = 0
    marks: list[tuple[int, int]] = field(default_factory=list)
    _bytes: int = 0
    _quotes: int = 0
    _marked: int = 0

    def add(self, chunk: bytes) -> None:
        if self.has_marks and self._bytes - self._marked >= MARK_BYTES:
            self._mark(chunk)
        self.lines += chunk.count(b"\n")
        self._bytes += len(chunk)
        if self.quote:
            self._quotes += chunk.count(self.quote)

    def _mark(self, chunk: bytes) -> None:
        """Note the first line that begins in a chunk, and no field goes over."""
        end, quotes, looked = chunk.find(b"\n"), self._quotes, 0
        while end >= 0:
            quotes += chunk.count(self.quote, looked, end) if self.quote else 0
            looked = end
            if quotes % 2 == 0:
                self._marked = self._bytes + end + 1
                self.marks.append((self.lines + chunk.count(b"\n", 0, end + 1), self._marked))
                return
            end = chunk.find(b"\n", end + 1)


class _Begin:
    """A stream of what was read already."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, size: int, /) -> bytes:  # noqa: ARG002 - it is one chunk
        content, self._content = self._content, b""
        return content


def _ensure_header(cut: Cut, first: bytes) -> None:
    lines = Lines(_Begin(first), quoting=cut.quoting)
    rows = next((rows for rows in lines if rows.values), None)
    value = None if rows is None else rows.values[0]
    wanted = cut.delimiter.join(cut.header)
    if rows is None or value is None or rows.lines[0] != 0:
        raise BadFileError(f"does not begin with a line of names ({wanted})")
    if _names(cut, value) != [name.lower() for name in cut.header]:
        begin = value.decode(errors="replace")[:200]
        raise BadFileError(f"begins with {begin!r}, where the payload's columns are {wanted}")


def _names(cut: Cut, value: bytes) -> list[str]:
    """The fields of a file's first record, in small letters; none if it cannot be one of names."""
    quote = cut.quoting.quote.decode() if cut.quoting else ""
    text = [value.decode(errors="replace")]
    try:
        given = next(
            csv.reader(
                text,
                delimiter=cut.delimiter,
                quotechar=quote or None,
                quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            ),
            [],
        )
        return [name.strip().lower() for name in given]
    except csv.Error:
        return []
