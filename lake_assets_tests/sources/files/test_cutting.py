"""Lines are the same, and have the same numbers and places, however a stream comes in pieces."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.model.files_source import FilesSource
from lake_assets.sources.files import cutting, measuring
from lake_assets.sources.files.cutting import Lines, Quoting
from lake_assets.sources.files.measuring import Cut, _lines

TEXTS = st.binary(max_size=60) | st.text('ab\n\r",', max_size=60).map(str.encode)


def cut(content, chunk, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "CHUNK_BYTES", chunk)
        lines = Lines(io.BytesIO(content), **options)
        rows = [
            (int(line), int(position), value)
            for part in lines
            for line, position, value in zip(part.lines, part.positions, part.values, strict=True)
        ]
        return rows, lines.line


@settings(max_examples=200, deadline=None)
@given(content=TEXTS, chunk=st.integers(1, 70))
def test_lines_are_those_between_ends_of_lines(content, chunk):
    rows, _ = cut(content, chunk)
    begin = 3 if content.startswith(b"\xef\xbb\xbf") and chunk >= 3 else 0
    at, expected = begin, []
    for number, line in enumerate(content[begin:].split(b"\n")):
        value = line.removesuffix(b"\r")
        if value.strip():
            expected.append((number, at, value))
        at += len(line) + 1
    assert rows == expected


@settings(max_examples=200, deadline=None)
@given(content=TEXTS, chunk=st.integers(3, 70), other=st.integers(3, 70))
def test_counting_and_cutting_agree(content, chunk, other):
    quoting = Quoting(quote=b'"')
    rows, reached = cut(content, chunk, quoting=quoting)
    assert rows == cut(content, other, quoting=quoting)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "CHUNK_BYTES", other)
        patch.setattr(measuring, "MARK_BYTES", 10)
        source = FilesSource(path="/x", format="csv")
        measured = _lines(Cut(source=source, quoting=quoting), io.BytesIO(content), has_marks=True)
    assert measured.lines == reached
    for line, position in measured.marks:  # as if it had been read from its begin
        stream = io.BytesIO(content)
        stream.seek(position)
        later = Lines(stream, line=line, position=position, quoting=quoting)
        found = [
            (int(n), int(p), v)
            for part in later
            for n, p, v in zip(part.lines, part.positions, part.values, strict=True)
        ]
        assert found == [row for row in rows if row[0] >= line]


def test_records_of_csv_are_those_that_python_reads():
    content = b'a,"b\n\nc",d\r\n1,"2""",3\n"x\ny","",\n'
    rows, _ = cut(content, 7, quoting=Quoting(quote=b'"'))
    parsed = [next(csv.reader(io.StringIO(value.decode(), newline=""))) for *_, value in rows]
    assert parsed == list(csv.reader(io.StringIO(content.decode(), newline="")))


def test_a_line_of_tabs_is_a_record_where_tabs_are_delimiters():
    rows, _ = cut(b"1\t2\n\t\r\n \n", 100, quoting=Quoting(quote=b'"', delimiter=b"\t"))
    assert [value for *_, value in rows] == [b"1\t2", b"\t"]


def test_an_escaped_quote_ends_nothing():
    content = b'"a\\"\nb",1\n2,3\n'
    rows, _ = cut(content, 100, quoting=Quoting(quote=b'"', escape=b"\\"))
    assert [value for *_, value in rows] == [b'"a\\"\nb",1', b"2,3"]
