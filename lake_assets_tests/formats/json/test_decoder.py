import json

import pyarrow as pa
import pytest

from lake_assets.formats.questions import NewColumnsQuestion
from lake_assets.model.quarantine import Reason
from lake_assets_tests.formats.json.given import FITNESS, asked, batch, decoder, read, rows_of

OF_NO_TIME = [
    f'"2026-11-22{rest}"'
    for rest in (
        *("Z", "-05", "+05:00", "T12Z", "T12+05", "T12:00Z", " 12:00+0530"),
        *("T12:00:00+18:01", "T12:00:00-19", "T12:00:00+23:59", "T12:00:00+05:60"),
    )
]
"""Times that Spark does not take: a zone without seconds before it, or one too far away."""


def rescued(row):
    return json.loads(row["_rescued"])


def test_values_get_the_declared_types():
    found = decoder().decode(
        batch(
            b'{"time":"2026-11-22T12:00:00.5Z","version":"1","model":"a","heart_bpm":72,"kcal":3}'
        )
    )
    assert found.columns.schema.names == [
        "time",
        "version",
        "model",
        "heart_bpm",
        "kcal",
        "_rescued",
    ]
    (row,) = found.columns.to_pylist()
    assert (row["time"].isoformat(), row["heart_bpm"]) == ("2026-11-22T12:00:00.500000+00:00", 72)
    assert found.columns.schema.field("heart_bpm").type == pa.int32()


def test_what_fits_no_column_is_rescued_with_null_in_the_column():
    (row,) = read(FITNESS, '{"model":"a","heart_bpm":"abc","extra":1}')
    assert row == {"model": "a", "_rescued": '{"heart_bpm":"abc","extra":1}'}


def test_what_is_rescued_has_the_digits_it_came_with():
    (row,) = read("i int", '{"i":1.50,"x":{"y":[1e400,12345678901234567890123,null]}}')
    assert row["_rescued"] == '{"i":1.50,"x":{"y":[1e400,12345678901234567890123,null]}}'


@pytest.mark.parametrize(
    ("ddl", "good", "bad"),
    [
        (
            "v int",
            ["1", "-0", "2147483647"],
            ["1.0", "1e3", "2147483648", '"1"', "true", "[1]", "{}"],
        ),
        ("v tinyint", ["-128"], ["128"]),
        ("v bigint", ["9223372036854775807"], ["9223372036854775808", "1" * 5000]),
        ("v double", ["1", "1.5", "1e-400", "1" * 300], ["1e400", '"1.5"', "true"]),
        ("v float", ["0.1", "3.4e38"], ["3.5e38", "1e400"]),
        ("v boolean", ["true", "false"], ["1", '"true"', "0"]),
        ("v string", ['"a"', '""', '"\\u0000"'], ["1", "true", "{}", '"\\ud800"']),
        (
            "v timestamp",
            ['"2026-11-22"', '"2026-11-22T12"', '"2026-11-22 12:00:00.123456789+01:00"'],
            [
                *OF_NO_TIME,
                "1700000000",
                '"now"',
                '"2026-02-30"',
                '"0000-01-01"',
                '"2026-11-22T24:00:00"',
            ],
        ),
        (
            "v date",
            ['"2026-11-22"'],
            ['"2026-11-22T12:00:00"', '"0000-01-01"', '"22.11.2026"', "1"],
        ),
        (
            "v decimal(5,2)",
            ["1", "1.50", "1.500", '"1.5"', "1e2"],
            ["1.505", "1000", '"x"', '"NaN"'],
        ),
        ("v binary", ['"AAE="', '""'], ['"A"', '"ä"', "1"]),
        ("v array<int>", ["[]", "[1,null]"], ['[1,"a"]', "1", "{}"]),
        ("v map<string,int>", ['{"a":1,"b":null}', "{}"], ['{"a":"x"}', "[]"]),
        ("v struct<x: int>", ['{"x":1}', "{}"], ["[]", "1"]),
    ],
)
def test_which_values_fit_a_type(ddl, good, bad):
    for value in good:
        (row,) = read(ddl, f'{{"v":{value}}}')
        assert row.keys() == {"v"}, value
    for value in bad:
        (row,) = read(ddl, f'{{"v":{value}}}')
        assert row == {"_rescued": f'{{"v":{value}}}'}, value


def test_of_a_struct_only_what_does_not_fit_is_rescued():
    (row,) = read("d struct<x: int, y: int>", '{"d":{"x":1,"y":"a","z":2}}')
    assert row["d"] == {"x": 1, "y": None}
    assert rescued(row) == {"d": {"y": "a", "z": 2}}


def test_of_an_array_all_is_rescued_if_something_is():
    (row,) = read("a array<struct<x: int>>", '{"a":[{"x":1,"z":2}]}')
    assert (row["a"], rescued(row)) == ([{"x": 1}], {"a": [{"x": 1, "z": 2}]})


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ('{"i":1', "at character 6: Expecting ',' delimiter"),
        ("", None),
        (None, None),
        (" ", "at character 1: Expecting value"),
        ("[1]", "at character 0: an array, not an object"),
        ("7", "at character 0: a number, not an object"),
        ("null", "at character 0: null, not an object"),
        ('{"i":NaN}', "NaN is no number of JSON"),
        ('{"i":1}{"i":2}', "at character 7: Extra data"),
        (b'{"s":"\xff"}', "at byte 6: not UTF-8 (invalid start byte)"),
        ("{'i':1}", "at character 1: Expecting property name enclosed in double quotes"),
        ('{"x":' + "[" * 500 + "]" * 500 + "}", "nested deeper than 100 levels"),
        ('{"x":' + "[" * 200_000, "nested deeper than 100 levels"),
    ],
)
def test_what_is_no_object_is_refused_with_where_and_why(value, detail):
    reason = Reason.UNDECODABLE if detail else Reason.EMPTY_VALUE
    assert read("i int", '{"i":1}', value, '{"i":2}') == [{"i": 1}, (reason, detail), {"i": 2}]


@pytest.mark.parametrize("value", ['\ufeff{"i":1}', ' {"i":1}\r\n', '{\n"i":\n1}', '{"i":7,"i":1}'])
def test_marks_blanks_lines_and_names_given_twice_do_no_harm(value):
    assert read("i int", value) == [{"i": 1}]


def test_nulls_and_names_that_are_not_there_are_null():
    assert read("i int, s string", '{"i":null,"unknown":null}', "{}") == [{}, {}]


def test_a_name_in_another_case_is_another_name():
    assert read("i int", '{"I":1}') == [{"_rescued": '{"I":1}'}]


def test_a_row_with_a_misfit_goes_to_quarantine_if_the_feed_says_so():
    found = read("d struct<x: int>", '{"d":{"x":"a"}}', '{"d":{"x":1}}', on_mismatch="quarantine")
    assert found == [(Reason.TYPE_MISMATCH, 'd.x is no int: "a"'), {"d": {"x": 1}}]


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ('{"\\ud800":1}', '"\\ud800"'),
        ('{"d":{"\\ud800":1}}', 'd."\\ud800"'),
        ('{"m":{"k":{"\\udfff":1}}}', 'm[]."\\udfff"'),
        ('{"a.b":1,"a b":2,"heart-bpm":3}', '"a.b", "a b", heart-bpm'),
        ('{"l":[{"y":1},{"y":2}]}', "l[].y"),
    ],
)
def test_unknown_names_are_told_so_that_they_can_be_stored(value, detail):
    ddl = "d struct<x: int>, m map<string, struct<x: int>>, l array<struct<x: int>>"
    refused = (Reason.UNKNOWN_COLUMN, f"no column is declared for {detail}")
    assert read(ddl, value, "{}", on_unknown="quarantine") == [refused, {}]


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ('{"i":"\\ud800"}', 'i is no int: "\\ud800"'),
        ('{"m":{"\\ud800":1}}', 'm is no map<string, int>: {"\\ud800":1}'),
        ('{"d":{"x":{"y":[1.50]}}}', 'd.x is no int: {"y":[1.50]}'),
    ],
)
def test_a_misfit_is_told_as_it_came(value, detail):
    ddl = "i int, m map<string, int>, d struct<x: int>"
    assert read(ddl, value, on_mismatch="quarantine") == [(Reason.TYPE_MISMATCH, detail)]


def test_what_is_in_no_column_is_rescued_whatever_other_names_look_like():
    (row,) = read("a array<struct<x: int>>", '{"a[].y":0,"a":[{"x":1,"y":2}]}')
    assert row["a"] == [{"x": 1}]
    assert rescued(row) == {"a[].y": 0, "a": [{"x": 1, "y": 2}]}


def test_a_row_with_an_unknown_name_goes_to_quarantine_if_the_feed_says_so():
    found = read("i int", '{"i":1,"a":2}', '{"i":1}', on_unknown="quarantine")
    assert found == [(Reason.UNKNOWN_COLUMN, "no column is declared for a"), {"i": 1}]


@pytest.mark.parametrize("other", ["", ',"i2":"x"'])
def test_unknown_names_are_ignored_if_the_feed_says_so(other):
    found = read(
        "i int, i2 int", f'{{"i":1,"a":NaN{other}}}', '{"i":1,"a":{"i":2}}', on_unknown="ignore"
    )
    assert found == [(Reason.UNDECODABLE, "NaN is no number of JSON"), {"i": 1}]


def test_a_huge_row_is_read():
    text = "x" * 5_000_000
    assert read("s string", f'{{"s":"{text}"}}') == [{"s": text}]


def test_a_new_name_asks_for_a_column_of_the_type_that_it_has():
    values = [
        '{"i":1}',
        '{"b":true,"n":1,"x":1.5,"s":"a","l":[1,2.5],"o":{"y":1}}',
        '{"nothing":null,"_offset":1,"not a name":1,"I":1,"mixed":[1,"a"],"empty":{}}',
    ]
    found = decoder("i int", on_unknown="add_columns").decode(batch(*map(str.encode, values)))
    columns = (
        *(("b", "boolean"), ("l", "array<double>"), ("n", "bigint"), ("o", "struct<`y`: bigint>")),
        *(("s", "string"), ("x", "double")),
    )
    assert asked(found) == [None, NewColumnsQuestion(columns), None]
    left = rows_of(found)[2]
    assert rescued(left).keys() == {"_offset", "not a name", "I", "mixed", "empty"}


def test_a_name_with_a_dot_gets_no_column():
    found = decoder("i int", on_unknown="add_columns").decode(
        batch(b'{"a.b":1,"a":{"b.c":2},"l":[{"d.e":3}]}')
    )
    assert asked(found) == [None]
    (row,) = rows_of(found)
    assert rescued(row) == {"a.b": 1, "a": {"b.c": 2}, "l": [{"d.e": 3}]}


def test_columns_that_a_table_has_already_are_null_or_wider():
    have = pa.schema([("i", pa.int64()), ("old", pa.string())])
    found = decoder("i int", have=have).decode(batch(b'{"i":1,"old":"x"}'))
    assert found.columns.schema.field("i").type == pa.int64()
    assert rows_of(found) == [{"i": 1, "_rescued": '{"old":"x"}'}]


def test_no_rows_are_no_rows():
    assert rows_of(decoder().decode(batch())) == []
    assert rows_of(decoder().decode(batch(None, b""))) == [(Reason.EMPTY_VALUE, None)] * 2
