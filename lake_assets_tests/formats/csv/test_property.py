"""CSV held to its reference readers: Python's csv module, and Spark's from_csv."""

import csv
import io
import math
import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from lake_assets.formats.csv.records import Dialect, read_records
from lake_assets_tests.formats.contract import check_decoder
from lake_assets_tests.formats.csv.given import columns, decoder, payload_format
from lake_assets_tests.formats.json.given import batch, rows_of

DDL = (
    "i int, l bigint, t tinyint, d double, f float, p decimal(10,2), b boolean, at timestamp, "
    "day date, s string"
)

TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        [
            *(
                "",
                " ",
                "1",
                "-1",
                "+1",
                "007",
                "1.5",
                "1e3",
                ".5",
                "1.",
                "127",
                "128",
                "2147483648",
            ),
            *("9223372036854775808", "NaN", "Inf", "-Inf", "1e400", "1d", "0x1", "true", "TRUE"),
            *("2026-11-22", "2026-02-30", "2026-11-22T12:00:00Z", "2026-11-22 12:00:00.123456"),
            *("2026-11-22T12:00:00+01:00", "0000-01-01", "12:00", "1.505", "99999999.99", "1" * 50),
            *('"', '""', ",", "\n", "\r\n", "a\nb", 'a"b', "\\", "\ufeff", "\0"),
        ]
    ),
)

RECORDS = st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=1, max_size=8)


def written(fields, **dialect):
    text = io.StringIO(newline="")
    csv.writer(text, **dialect).writerow(fields)
    return text.getvalue().removesuffix("\r\n")


@given(RECORDS, st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.sampled_from(",;\t|"))
@settings(max_examples=300, deadline=None)
def test_what_pythons_writer_writes_is_read_as_it_was(records, quoting, delimiter):
    values = [written(fields, quoting=quoting, delimiter=delimiter) for fields in records]
    if not all(value.removeprefix("\ufeff") for value in values):
        return
    found = read_records(
        pa.array([value.encode() for value in values]), Dialect(delimiter=delimiter)
    )
    expected = []
    for fields, value in zip(records, values, strict=True):
        # An unquoted empty field is null; a mark of the byte order at the front is none of it.
        plain = value.removeprefix("\ufeff")
        own = next(csv.reader([plain], delimiter=delimiter, strict=True))
        assert plain != value or own == fields
        is_quoted = quoting == csv.QUOTE_ALL or value == '""'
        expected.append([None if not f and not is_quoted else f for f in own])
    assert not found.problems
    assert found.fields.to_pylist() == expected


RAW = st.text(alphabet='a1",\\\n\r; ', max_size=12)


@given(st.lists(RAW, max_size=8), st.sampled_from(["", "\\"]))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read_as_pythons_strict_reader_reads_it(values, escape):
    found = read_records(
        pa.array([v.encode() for v in values], pa.binary()), Dialect(escape=escape)
    )
    for row, value in enumerate(values):
        body = (
            value.removesuffix("\n").removesuffix("\r")
            if value.endswith("\n")
            else (value.removesuffix("\r"))
        )
        fields = found.fields[row].as_py()
        theirs = strictly(body, escape) if body else []
        if not theirs:
            assert found.problems[row] == ""
        elif isinstance(theirs, csv.Error):
            assert found.problems[row]
            assert str(theirs).startswith(found.problems[row])
            assert fields is None
        else:
            assert row not in found.problems
            assert [field or "" for field in fields] == theirs


def strictly(text, escape):
    found = by_module(text, escape)
    if escape and isinstance(found, csv.Error):
        # It takes an escaped end of a line in the last field for the end of what it reads.
        longer = by_module(f"{text},", escape)
        if isinstance(longer, list) and longer[1:] and not longer[-1]:
            return longer[:-1]
    return found


def by_module(text, escape):
    try:
        return next(csv.reader([text], strict=True, escapechar=escape or None), [])
    except csv.Error as problem:
        return problem


def test_an_escaped_end_of_a_line_is_part_of_a_field():
    values = ["a\\\nb", "\\\r", "x,a\\\nb", 'a\\\nb,"",', "a\\", '"a', "a\\\nb\nc"]
    found = read_records(pa.array([v.encode() for v in values]), Dialect(escape="\\"))
    assert found.fields.to_pylist() == [
        *(["a\nb"], None, ["x", "a\nb"], ["a\nb", "", None]),
        *(None, None, None),
    ]
    assert found.problems.keys() == {1, 4, 5, 6}


VALUES = st.lists(
    st.one_of(
        st.none(),
        st.binary(max_size=9),
        st.lists(TEXTS, min_size=9, max_size=11).map(lambda fields: written(fields).encode()),
        RAW.map(str.encode),
    ),
    max_size=6,
)


@given(VALUES, st.sampled_from(["rescue", "quarantine"]))
@settings(max_examples=300, deadline=None)
def test_rows_that_are_read_together_are_as_each_alone(values, rule):
    plan = decoder(DDL, on_mismatch=rule)
    alone = [rows_of(plan.decode(batch(value)))[0] for value in values]
    assert str(rows_of(plan.decode(batch(*values)))) == str(alone)


@pytest.mark.parametrize("rule", ["rescue", "quarantine"])
def test_it_keeps_the_contract(rule):
    made = payload_format("i int, s string", on_mismatch=rule)
    values = [b"1,a", None, b"", b'"', b"x,a", b"1", b"1,2,3", b'"1",""', b"\xff"]
    check_decoder(made.plan(made.newest(), pa.schema([]), ()), batch(*values))


OF_SPARKS_TIMES = (
    *("", "T12", " 12:00", "T12:00:00Z", "T12:00:00.5+05", " 12:00:00-05:30", "T12:00:00+0530"),
    *("Z", "-05", "+05:00", "T12Z", "T12+05", "T12:00Z", " 12:00+0530", "T12:00:00+18:00"),
    *("T12:00:00+18:01", "T12:00:00-19", "T12:00:00+23:59", "T12:00:00+05:60"),
)

OF_SPARK = (
    "1,2,3,0.5,0.25,1.25,true,2026-11-22T12:00:00Z,2026-11-22,a",
    "+1,-2,-128,1e3,3.4e38,-0.5,FALSE,2026-11-22 12:00:00.123456,0001-01-01, b ",
    ",,,,,,,,,",
    '"7","8","9",".5","1.","12","True","2026-11-22T12:00:00+01:00","2026-12-31","c,""d"""',
    "007,9223372036854775807,127,NaN,Inf,99999999.99,true,2026-11-22T12:00:00.5Z,9999-12-31,ünï",
    *(f",,,,,,,2026-11-22{rest},," for rest in OF_SPARKS_TIMES),
    "1.0,1e3,128,x,x,x,1,noon,yesterday,",
    " 1, 2,3 ,1.5.5,--1,1e,t,2026-13-01T00:00:00Z,2026-02-30,x",
)


@pytest.mark.spark
def test_rows_are_what_sparks_own_reader_makes_of_them(spark):
    """But for what Spark makes of text with a loss, which is no value here."""
    frame = spark.createDataFrame([(row,) for row in OF_SPARK], "value string")
    options = {"escape": '"', "nullValue": ""}
    theirs = frame.select(F.from_csv("value", DDL, options).alias("row")).select("row.*")
    ours = columns(decoder(DDL), *OF_SPARK).drop_columns(["_rescued"])
    assert told(ours) == told(theirs.toArrow())


def told(rows):
    """Rows to compare; no NaN is another one, and what is wrong in one field is no matter."""
    return [
        {name: "NaN" if isinstance(v, float) and math.isnan(v) else v for name, v in row.items()}
        for row in rows.to_pylist()
    ]


@pytest.mark.spark
def test_random_texts_are_what_spark_reads_or_nothing(spark):
    """Where we have a value Spark has the same; where Spark alone has one, it lost something."""
    made = st.lists(TEXTS, min_size=10, max_size=10)
    drawn: list[list[str]] = []

    @given(made)
    @settings(max_examples=200, deadline=None, database=None)
    def draw(fields):
        # Spark's reader takes lines, and has marks of its own.
        drawn.append([re.sub("[\0\ufeff\r\n]", "", field) for field in fields])

    draw()
    values = [written(fields, quoting=csv.QUOTE_ALL) for fields in drawn]
    frame = spark.createDataFrame([(row,) for row in values], "value string")
    options = {"escape": '"', "nullValue": ""}
    theirs = frame.select(F.from_csv("value", DDL, options).alias("row")).select("row.*")
    # Python has no date of the year 0, and Spark has.
    theirs = theirs.withColumns(
        {name: F.when(F.year(name).between(1, 9999), F.col(name)) for name in ("at", "day")}
    )
    pairs = zip(told(columns(decoder(DDL), *values)), told(theirs.toArrow()), strict=True)
    for fields, (ours, spark_has) in zip(drawn, pairs, strict=True):
        for name, value in spark_has.items():
            if ours[name] is not None and name != "s":
                assert ours[name] == value, (name, fields)
