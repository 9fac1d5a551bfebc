import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from lake_assets.model.quarantine import Reason
from lake_assets_tests.formats.csv.given import FITNESS, read


def test_values_get_the_declared_types_by_their_place():
    assert read(FITNESS, "2026-11-22T12:00:00.5Z,pulse,72,1.5") == [
        {
            "time": datetime(2026, 11, 22, 12, 0, 0, 500_000, UTC),
            "model": "pulse",
            "heart_bpm": 72,
            "kcal": 1.5,
        }
    ]


@pytest.mark.parametrize(
    ("ddl", "good", "bad"),
    [
        ("v int", ["1", "-0", "+7", "007", "2147483647"], ["1.0", "1e3", "2147483648", " 1", "x"]),
        ("v tinyint", ["-128", "127"], ["128", "-129"]),
        ("v bigint", ["9223372036854775807"], ["9223372036854775808", "1" * 5000, "٣"]),
        ("v double", ["1", "-1.5", "1.", ".5", "1e-400", "+1e3"], ["1e400", "1,", "0x1", "nan"]),
        ("v float", ["0.1", "3.4e38"], ["3.5e38", "1d"]),
        ("v boolean", ["true", "FALSE", "True"], ["1", "yes", "t"]),
        ("v string", ["a", " ", "null", "1"], []),
        (
            "v timestamp",
            ["2026-11-22", "2026-11-22T12:00", "2026-11-22 12:00:00.123456789+01:00"],
            [
                "1700000000",
                "now",
                "2026-11-22T24:00:00",
                "2026-11-22T12:61:00Z",
                "2026-11-22T12:00Z",
            ],
        ),
        ("v date", ["2026-11-22", "0001-01-01"], ["2026-11-22T12:00:00", "2026-02-30", "22.11."]),
        ("v decimal(5,2)", ["1", "1.50", "1.500", "1e2", "-999.99"], ["1.505", "1000", "x"]),
        ("v decimal(2,2)", ["0.25", ".5"], ["1"]),
    ],
)
def test_which_texts_fit_a_type(ddl, good, bad):
    """Each alone and among others, since most are read together."""
    for some in [good, *([text] for text in good)]:
        for row in read(ddl, *some):
            assert row.keys() == {"v"}, some
    for value in bad:
        quoted = f'"{value}"'
        wanted = {"_rescued": json.dumps({"v": value}, separators=(",", ":"), ensure_ascii=False)}
        assert read(ddl, quoted) == [wanted]
        assert read(ddl, *good, quoted)[-1] == wanted


def test_numbers_are_what_they_say():
    assert read("v double", "NaN")[0].keys() == {"v"}
    assert math.isnan(read("v double", "NaN")[0]["v"])
    assert [row["v"] for row in read("v double", "Inf", "-Inf", "0.1")] == [
        math.inf,
        -math.inf,
        0.1,
    ]
    assert read("v decimal(5,2)", "1.5", "+1") == [{"v": Decimal("1.50")}, {"v": Decimal("1.00")}]
    assert read("v date", "2026-11-22") == [{"v": date(2026, 11, 22)}]
    # Twice rounded, by way of a double, it would be 1.0000001.
    assert read("v float", "1.00000005960464477540")[0]["v"] == 1.0000001192092896


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ("a,b", {"x": "a", "y": "b"}),
        ('"a,1","b ""q"""', {"x": "a,1", "y": 'b "q"'}),
        ('"a\nb",c', {"x": "a\nb", "y": "c"}),
        ('a "q",b', {"x": 'a "q"', "y": "b"}),
        ("a,b\r\n", {"x": "a", "y": "b"}),
        ('"a","b"\n', {"x": "a", "y": "b"}),
        ("\ufeffa,b", {"x": "a", "y": "b"}),
        (",", {}),
        ('a,""', {"x": "a", "y": ""}),
        ('"",b', {"x": "", "y": "b"}),
        ('"",', {"x": ""}),
        ("a\\,b", {"x": "a\\", "y": "b"}),
        ("ä,😀\0", {"x": "ä", "y": "😀\0"}),
        (f'"{"x" * 300_000}",b', {"x": "x" * 300_000, "y": "b"}),
    ],
)
def test_quotes_lines_and_empty_fields(value, fields):
    assert read("x string, y string", value) == [fields]
    assert read("x string, y string", "1,2", value, '"3",4')[1] == fields


def test_the_marks_are_those_that_are_declared():
    rules = {"delimiter": "|", "quote": "'", "escape": "\\", "null_value": "NULL"}
    values = ["a|'b|''c'", "'it\\'s'|x", "NULL|'NULL'", "|''", "a\\|b|c"]
    assert read("x string, y string", *values, **rules) == [
        {"x": "a", "y": "b|'c"},
        {"x": "it's", "y": "x"},
        {"y": "NULL"},
        {"x": "", "y": ""},
        {"x": "a|b", "y": "c"},
    ]
    tabs = {"delimiter": "\t", "quote": ""}
    assert read("x string, y string", '"a\tb"', **tabs) == [{"x": '"a', "y": 'b"'}]


def test_a_record_with_more_or_fewer_fields_is_rescued_as_a_whole():
    assert read("x int, y string", "1", "1,a,b", "x,a,b", "2,a") == [
        {"x": 1, "_rescued": '{"_record":"1"}'},
        {"x": 1, "y": "a", "_rescued": '{"_record":"1,a,b"}'},
        {"y": "a", "_rescued": '{"_record":"x,a,b"}'},
        {"x": 2, "y": "a"},
    ]


def test_a_row_with_a_misfit_goes_to_quarantine_if_the_feed_says_so():
    found = read("x int, y string", "1,a", "1", "1,a,b", "x,a", "x", on_mismatch="quarantine")
    assert found == [
        {"x": 1, "y": "a"},
        (Reason.TYPE_MISMATCH, "1 fields, and 2 columns are declared"),
        (Reason.TYPE_MISMATCH, "3 fields, and 2 columns are declared"),
        (Reason.TYPE_MISMATCH, 'x is no int: "x"'),
        (Reason.TYPE_MISMATCH, "1 fields, and 2 columns are declared"),
    ]


@pytest.mark.parametrize("rule", ["rescue", "quarantine"])
@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (None, None),
        ("", None),
        ("\n", None),
        ('1,"a', "unexpected end of data"),
        ('1,"a"b', "',' expected after '\"'"),
        ("1,a\n2,b", "new-line character seen in unquoted field"),
        (b"1,\xff", "at byte 2: not UTF-8 (invalid start byte)"),
    ],
)
def test_what_is_no_record_is_refused_with_why(value, detail, rule):
    reason = Reason.UNDECODABLE if detail else Reason.EMPTY_VALUE
    found = read("x int, y string", "1,a", value, "2,b", on_mismatch=rule)
    assert found == [{"x": 1, "y": "a"}, (reason, detail), {"x": 2, "y": "b"}]


def test_no_rows_are_no_rows():
    assert read(FITNESS) == []
    assert read(FITNESS, None, "") == [(Reason.EMPTY_VALUE, None)] * 2
