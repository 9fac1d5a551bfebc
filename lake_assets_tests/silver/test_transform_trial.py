"""What a `transform` must do before rows come, and what of it is told."""

import itertools
import logging
import sys
from datetime import UTC, datetime
from types import ModuleType

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.functions import NamedFunction
from lake_assets.silver.sample_rows import null_rows, sample_rows
from lake_assets.silver.transform_trial import try_transform

COLUMNS = pa.schema(
    [
        ("name", pa.string()),
        ("level", pa.int32()),
        ("at", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.field("item", pa.string()))),
        ("owner", pa.struct([("mail", pa.string()), ("ok", pa.bool_())])),
        ("price", pa.decimal128(10, 2)),
        ("counts", pa.map_(pa.string(), pa.int64())),
    ]
)

_NUMBERS = itertools.count()


@pytest.fixture
def tried():
    """Tries a function under a name of its own, as processes find it."""
    made = []

    def tried(function, columns=COLUMNS):
        module = ModuleType(f"tried_{next(_NUMBERS)}")
        module.__dict__["function"] = function
        sys.modules[module.__name__] = module
        made.append(module.__name__)
        return try_transform("f", NamedFunction(f"{module.__name__}:function"), columns)

    yield tried
    for name in made:
        del sys.modules[name]


def of_list(rows, name, function, kind=None):
    values = [function(value) for value in rows["name"].to_pylist()]
    return rows.append_column(name, pa.array(values, kind))


def test_columns_are_those_that_it_gives_and_passed_those_that_it_leaves_alone(tried):
    def louder(rows):
        rows = rows.set_column(
            0, "name", pc.utf8_upper(pc.binary_join_element_wise(rows["name"], "x", ""))
        )
        return rows.append_column("twice", pc.multiply(rows["level"], 2)).drop_columns(["tags"])

    trial = tried(louder)
    assert trial.columns.names == ["name", "level", "at", "owner", "price", "counts", "twice"]
    assert trial.passed == {"level", "at", "owner", "price", "counts"}


def test_a_column_of_no_rows_has_the_type_that_it_has_of_some(tried):
    trial = tried(lambda rows: of_list(rows, "length", lambda name: name and len(name)))
    assert trial.columns.field("length").type == pa.int64()


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (pa.large_string(), pa.string()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.timestamp("ms", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.large_list(pa.string_view()), pa.list_(pa.field("item", pa.string()))),
        (pa.struct([("a", pa.large_binary())]), pa.struct([("a", pa.binary())])),
    ],
)
def test_types_become_those_that_tables_have(tried, given, stored):
    trial = tried(lambda rows: rows.append_column("x", pa.nulls(rows.num_rows, given)))
    assert trial.columns.field("x").type == stored


def counting(rows, numbers=itertools.count()):  # noqa: B008 - what is wrong with it
    return of_list(rows, "number", lambda _: next(numbers), pa.int64())


def now(rows):
    at = datetime.now(UTC)
    return of_list(rows, "now", lambda _: at, pa.timestamp("us", "UTC"))


def ranked(rows):
    return rows.append_column("rank", pa.array(range(rows.num_rows), pa.int64()))


def raising(problem, *, if_rows=0):
    def function(rows):
        if rows.num_rows >= if_rows:
            raise problem
        return rows

    return function


def with_type(kind):
    return lambda rows: rows.append_column("x", pa.nulls(rows.num_rows, kind))


def as_table(rows):
    return pa.Table.from_batches([rows])


def of_two_types(rows):
    return of_list(rows, "x", lambda name: name, pa.string() if rows.num_rows else pa.int32())


def of_other_columns(rows):
    return rows if rows.num_rows else rows.drop_columns(["name"])


def named(name):
    return lambda rows: rows.append_column(name, pa.nulls(rows.num_rows, pa.string()))


@pytest.mark.parametrize(
    ("function", "fact"),
    [
        (as_table, "gave Table, and not a pyarrow.RecordBatch, for no rows"),
        (lambda _: None, "gave NoneType, and not"),
        (lambda rows: rows.slice(0, 1), "gave 1 rows for 3, for made-up rows"),
        (lambda rows: rows.filter(pc.is_valid(rows["name"])), "gave 0 rows for 2, for rows of n"),
        (raising(KeyError("who")), r"raises for no rows \(KeyError: 'who'\)"),
        (raising(NameError("pcc"), if_rows=1), r"raises for made-up rows \(NameError: pcc\)"),
        (counting, "gives something else for the same rows when called again"),
        (now, "gives something else for the same rows when called again"),
        (ranked, "gives something else for a row alone than beside others"),
        (with_type(pa.null()), "gives column x without a type"),
        (with_type(pa.uint8()), "gives column x as uint8, which silver's tables cannot have"),
        (with_type(pa.timestamp("us")), 'tables cannot have. Give it the time zone "UTC"'),
        (with_type(pa.list_(pa.duration("s"))), "gives column x as list<item: duration"),
        (with_type(pa.struct([])), r"gives column x as struct<>, which silver's tables cannot"),
        (with_type(pa.list_(pa.struct([]))), "gives column x as list<item: struct<>>, which"),
        (with_type(pa.decimal128(38, -2)), r"gives column x as decimal128\(38, -2\), which"),
        (with_type(pa.decimal128(4, 6)), r"gives column x as decimal128\(4, 6\), which"),
        (of_two_types, "gives column x as int32 and as string"),
        (of_other_columns, "for some rows and level, at, .* for none. Give the same columns"),
        (named("Name"), "gives two columns name"),
        (named("_offset"), "gives a column '_offset', and such names are silver's own"),
        (named(""), "gives a column '', and"),
    ],
)
def test_what_does_not_keep_the_promise_is_refused(tried, function, fact):
    with pytest.raises(FeedError, match=f"transform of feed 'f': tried_.*:function.*{fact}"):
        tried(function)


def test_what_may_be_wrong_with_made_up_values_alone_is_no_error(tried, caplog):
    with caplog.at_level(logging.WARNING):
        trial = tried(raising(ValueError("no such game"), if_rows=1))
    assert trial.columns == COLUMNS
    assert "raises for made-up rows (ValueError: no such game)" in caplog.text
    assert trial.passed == frozenset()


def test_that_it_fails_for_nulls_is_told(tried, caplog):
    with caplog.at_level(logging.WARNING):
        trial = tried(lambda rows: of_list(rows, "first", lambda name: name[0], pa.string()))
    assert trial.passed == set(COLUMNS.names)
    assert "raises for rows of nulls (TypeError: " in caplog.text


def test_a_module_that_is_gone_is_told():
    with pytest.raises(FeedError, match="there is no module tried_nowhere"):
        try_transform("f", NamedFunction("tried_nowhere:function"), COLUMNS)


def test_sample_rows_have_no_nulls_and_null_rows_nothing_else():
    rows = sample_rows(COLUMNS)
    assert rows.schema == COLUMNS
    assert [column.null_count for column in rows.columns] == [0] * len(COLUMNS)
    assert rows["owner"].to_pylist()[0] == {"mail": "1", "ok": True}
    assert [column.null_count for column in null_rows(COLUMNS).columns] == [2] * len(COLUMNS)
