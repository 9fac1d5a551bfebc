"""Rows that are cut, mixed and read in both ways: what becomes of one depends on it alone."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.formats.json.plain_reader import read_plain
from lake_assets.formats.json.row_reader import read_rows
from lake_assets.formats.json.vector_reader import can_read, read_values
from lake_assets.formats.questions import NewColumnsQuestion
from lake_assets.model.misfits import OnUnknown
from lake_assets_tests.formats.json.given import batch, decoder, rows_of

DDL = (
    "i int, l bigint, t tinyint, d double, f float, s string, b boolean, at timestamp, day date, "
    "o struct<x: int, s: string>, a array<int>, many array<struct<x: int>>"
)

NAMES = ["i", "l", "t", "d", "f", "s", "b", "at", "day", "o", "a", "many", "I", "extra", "_offset"]

TIMES = st.sampled_from(
    [
        *("2026-11-22T12:00:00Z", "2026-11-22T12:00:00.123456Z", "2026-11-22 12:00:00+01:00"),
        *("2026-11-22T12:00:00", "2026-11-22T12:00", "2026-11-22", "2026-11-22T12Z", "0000-01-01"),
        *("2026-11-22T12:00:00.1234567Z", "2026-02-30", "2026-11-22T24:00:00", "0001-01-01T00:00Z"),
        *(
            "0001-01-01T00:00:00+02:00",
            "9999-12-31T23:59:59-02:00",
            "9999-12-31T23:59:59.999999Z",
            "2026-11-22T12:00:00-0130",
            "now",
        ),
    ]
)

NUMBERS = st.sampled_from(
    [
        *("0", "-0", "1", "-1", "127", "128", "2147483647", "2147483648", "9223372036854775807"),
        *(
            "9223372036854775808",
            "1.0",
            "1e3",
            "-0.0",
            "0.1",
            "3.4e38",
            "3.5e38",
            "1e400",
            "1e-400",
        ),
        *(
            "NaN",
            "Infinity",
            "-Infinity",
            "Inf",
            "01",
            "+1",
            ".5",
            "1.",
            "123456789012345678901234567890",
        ),
        "1" * 50,
        "1" * 5000,
    ]
)

STRINGS = st.one_of(
    st.text(max_size=5).map(json.dumps),
    st.text(max_size=5).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(['"\\ud800"', '"a\nb"', '"}', '"\\u0000"', '"72"', '"\\x"', '"']),
    TIMES.map(json.dumps),
)

VALUES = st.recursive(
    st.one_of(NUMBERS, STRINGS, st.sampled_from(["null", "true", "false", "nil", ""])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(st.tuples(st.sampled_from(["x", "s", "y"]), inner), max_size=3).map(
            lambda items: f"{{{','.join(f'{json.dumps(k)}:{v}' for k, v in items)}}}"
        ),
    ),
    max_leaves=4,
)

LIKELY = {
    "i": st.integers(-5, 5).map(str),
    "d": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "f": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "s": st.text(max_size=9).map(json.dumps),
    "b": st.sampled_from(["true", "false", "null"]),
    "at": TIMES.map(json.dumps),
    "day": st.dates().map(lambda day: json.dumps(day.isoformat())),
    "o": st.sampled_from(['{"x":1}', '{"x":1,"s":"a"}', "{}", "null", '{"y":1}']),
    "a": st.lists(st.integers(-5, 5)).map(json.dumps),
    "many": st.sampled_from(['[{"x":1}]', '[{"x":1,"y":2}]', "[null]", "[]"]),
}


WELL_FORMED = {
    **{name: LIKELY[name] for name in ("i", "s", "b", "day", "a")},
    "d": st.floats(-1e30, 1e30).map(repr),
    "f": st.floats(-1e30, 1e30).map(repr),
    "at": st.datetimes().map(lambda at: json.dumps(f"{at.isoformat(timespec='microseconds')}Z")),
    "o": st.sampled_from(['{"x":1}', '{"x":1,"s":"a"}', "{}"]),
    "many": st.sampled_from(['[{"x":1}]', "[null]", "[]"]),
}


# Strategies of all rows alike are made once: to make one takes as long as to draw from it.
NAMES_OF_A_ROW = st.lists(st.sampled_from(NAMES), max_size=5)
FRAMES = st.sampled_from(["{}"] * 12 + [" {}\n", "\ufeff{}", "{}}}", "{0}{0}", "cut"])


@st.composite
def objects(draw):
    names = draw(NAMES_OF_A_ROW)
    likely = draw(st.booleans())
    pairs = [(name, draw(LIKELY[name] if likely and name in LIKELY else VALUES)) for name in names]
    text = f"{{{','.join(f'{json.dumps(name)}:{value}' for name, value in pairs)}}}"
    frame = draw(FRAMES)
    return text[:-1] if frame == "cut" else frame.format(text)


ROWS = st.lists(
    st.one_of(
        objects().map(str.encode),
        st.sampled_from(
            [None, b"", b" ", b"null", b"[]", b"1", b"\xff", b'{"s":"\xff"}', b'{"u":' + b"[" * 200]
        ),
    ),
    max_size=8,
)

RULES = st.fixed_dictionaries(
    {
        "on_mismatch": st.sampled_from(["rescue", "quarantine"]),
        "on_unknown": st.sampled_from(["rescue", "add_columns", "ignore", "quarantine"]),
    }
)


@given(ROWS, RULES)
@settings(max_examples=300, deadline=None)
def test_rows_that_are_read_together_are_as_each_alone(rows, rules):
    plan = decoder(DDL, **rules)
    alone = [rows_of(plan.decode(batch(row)))[0] for row in rows]
    assert _each(rows_of(plan.decode(batch(*rows)))) == _each(alone)


def _each(rows):
    """Rows to compare where some were beside others: what these ask for is told as one."""
    return [NewColumnsQuestion if isinstance(row, NewColumnsQuestion) else row for row in rows]


@given(st.lists(objects().map(str.encode), min_size=1, max_size=4), st.booleans())
@settings(max_examples=1000, deadline=None)
def test_where_arrows_reader_answers_it_says_what_is_read_row_by_row(values, ignores_unknown):
    plan = decoder(DDL, on_unknown="ignore" if ignores_unknown else "rescue")
    fields = plan.rules.fields
    assert can_read(fields)
    found = read_values(pa.array(values, pa.binary()), fields, ignores_unknown=ignores_unknown)
    if found is None:
        return
    by_row = read_rows(values, plan.rules)
    assert found.to_pylist() == by_row.columns.to_pylist()
    assert all(not (row.rescued or row.reason or row.question) for row in by_row.rows)


@given(st.lists(objects().map(str.encode), min_size=1, max_size=4), st.sampled_from(OnUnknown))
@settings(max_examples=1000, deadline=None)
def test_what_is_plain_is_what_is_read_row_by_row(values, rule):
    rules = decoder(DDL, on_unknown=rule).rules
    rest = rule.value if rule in {OnUnknown.RESCUE, OnUnknown.IGNORE} else None
    found = read_plain(values, rules.fields, rest=rest)
    by_row = read_rows([values[row] for row in found.rows], rules)
    assert found.columns.to_pylist() == by_row.columns.to_pylist()
    assert [found.rescued.get(row) for row in found.rows] == [row.rescued for row in by_row.rows]
    assert not any(row.reason or row.question for row in by_row.rows)


@given(
    st.sets(st.sampled_from(sorted(WELL_FORMED))),
    st.lists(st.fixed_dictionaries({}, optional=WELL_FORMED), min_size=1, max_size=4),
)
@settings(max_examples=300, deadline=None)
def test_arrows_reader_answers_for_well_formed_rows_also_where_columns_have_no_values(valued, rows):
    """In some batches a column is in no row, in others null in all of them."""
    plan = decoder(DDL)
    values = []
    for row in rows:
        pairs = {name: text if name in valued else "null" for name, text in row.items()}
        values.append(
            f"{{{','.join(f'{json.dumps(name)}:{text}' for name, text in pairs.items())}}}".encode()
        )
    fields = plan.rules.fields
    columns = read_values(pa.array(values, pa.binary()), fields, ignores_unknown=False)
    assert columns is not None
    by_row = read_rows(values, plan.rules).columns
    assert columns.to_pylist() == by_row.to_pylist()
    assert read_plain(values, fields, rest=None).columns.to_pylist() == by_row.to_pylist()


@pytest.mark.parametrize("rule", list(OnUnknown))
def test_a_slice_of_a_batch_is_read_as_what_it_is(rule):
    values = [b'{"i":%d}' % i for i in range(1000)] + [b"x", None, b'{"i":"y"}', b'{"z":1}'] * 9
    plan = decoder("i int", on_unknown=rule)
    whole = rows_of(plan.decode(batch(*values)))
    cut = [
        row
        for at in range(0, len(values), 100)
        for row in rows_of(plan.decode(batch(*values).slice(at, 100)))
    ]
    assert cut == whole


@pytest.mark.parametrize("rule", [OnUnknown.RESCUE, OnUnknown.IGNORE])
def test_minus_zero_is_the_same_by_every_way(rule):
    """`-0.0 == 0.0`, so the other tests would not tell them apart."""
    value = b'{"i":-0,"d":-0,"f":-0.0,"a":[-0],"o":{"x":-0}}'
    rules = decoder(DDL, on_unknown=rule).rules
    ways = [
        read_rows([value], rules).columns,
        read_values(pa.array([value]), rules.fields, ignores_unknown=rule is OnUnknown.IGNORE),
        decoder(DDL, on_unknown=rule).decode(batch(value, b"{")).columns.slice(0, 1),
    ]
    for columns in ways:
        (row,) = columns.to_pylist()
        assert [repr(row[name]) for name in "idfa"] == ["0", "-0.0", "-0.0", "[0]"]
    plain = read_plain([value], rules.fields, rest=rule.value)
    assert plain.rows == []


def test_minus_zero_is_rescued_as_it_came():
    for beside in ([], [b"{"]):
        plan = decoder("s string, d decimal(5,2)")
        row = rows_of(plan.decode(batch(b'{"s":-0,"x":-0,"d":-0}', *beside)))[0]
        assert row["_rescued"] == '{"s":-0,"x":-0}'
