import io
import json

import duckdb
import pyarrow.parquet as pq
import pytest

from lake_assets.errors import QueryError
from lake_assets.query.results import printable, text_rows, write_csv, write_json, write_parquet

EVERY_TYPE = """
select 1::tinyint a, 12345678901234567890123456789::hugeint b, 'nan'::double c, '-inf'::float d,
    1.10::decimal(10, 2) e, timestamp '290000-01-01' f, 'infinity'::timestamp g, '\\xAA'::blob h,
    interval 3 month i, [[1.5, 'nan'::double]] j, {'x': 'NaN "Infinity"', 'y': null} k,
    map {1: 2} l, time '10:00' m, null n, uuid '00000000-0000-0000-0000-000000000001' o,
    '"NaN", é' p, '' q
"""


@pytest.fixture
def db():
    with duckdb.connect(":memory:") as found:
        yield found


def written(write, result, limit=None):
    out = io.StringIO()
    return write(result, out, limit), out.getvalue()


def test_every_type_becomes_text(db):
    (row,) = text_rows(db.sql(EVERY_TYPE))
    assert row[1:7] == (
        "12345678901234567890123456789", "nan", "-inf", "1.10", "290000-01-01 00:00:00", "infinity",
    )  # fmt: skip
    assert (row[9], row[13], row[16]) == ("[[1.5,NaN]]", None, "")


def test_json_is_json_whatever_the_numbers_are(db):
    count, text = written(write_json, db.sql(EVERY_TYPE))
    row = json.loads(text, parse_constant=pytest.fail)
    assert (count, row["c"], row["d"], row["j"]) == (1, None, None, [[1.5, None]])
    assert row["b"] == 12345678901234567890123456789
    assert (row["k"], row["p"]) == ({"x": 'NaN "Infinity"', "y": None}, '"NaN", é')


def test_json_has_columns_by_the_names_that_they_have(db):
    sql = """select 1 as "result", 2 as "A", 3 as a, 4 as "it's", {'x': 5} as c0"""
    _, text = written(write_json, db.sql(sql))
    assert json.loads(text) == {"result": 1, "A": 2, "a": 3, "it's": 4, "c0": {"x": 5}}


def test_csv_tells_null_from_empty_and_keeps_commas_and_lines(db):
    sql = """
        select 1 n, 'a,"b"' s, null x, '' e, 'two' || chr(10) || 'lines' l, [1] t, 0.5::double d
    """
    count, text = written(write_csv, db.sql(sql))
    assert count == 1
    assert text == 'n,s,x,e,l,t,d\n1,"a,""b""",,"","two\nlines","[1]",0.5\n'


def test_parquet_has_the_types(db, tmp_path):
    sql = "select i, i::decimal(10, 2) d, [i] l from range(30000) r(i)"
    assert write_parquet(db.sql(sql), tmp_path / "x.parquet", None) == 30_000
    found = pq.read_table(tmp_path / "x.parquet")
    assert found.num_rows == 30_000
    assert [str(kind) for kind in found.schema.types] == [
        "int64", "decimal128(10, 2)", "list<element: int64>",
    ]  # fmt: skip


def test_what_parquet_has_no_type_for_is_told(db, tmp_path):
    with pytest.raises(QueryError, match="Cast that column"):
        write_parquet(db.sql("select interval 3 month i"), tmp_path / "x.parquet", None)


@pytest.mark.parametrize("limit", [0, 1, 25_000])
def test_a_limit_ends_a_result_that_would_not_end(db, limit, tmp_path):
    endless = db.sql("select i from range(1000000000000) r(i)")
    assert written(write_csv, endless, limit)[0] == limit
    assert written(write_json, endless, limit)[0] == limit
    assert write_parquet(endless, tmp_path / "x.parquet", limit) == limit


def test_no_rows_are_no_lines(db, tmp_path):
    none = db.sql("select 1 n where false")
    assert written(write_csv, none) == (0, "n\n")
    assert written(write_json, none) == (0, "")
    assert write_parquet(none, tmp_path / "x.parquet", None) == 0


def test_columns_of_one_name_are_refused_where_nothing_else_tells_them_apart(db, tmp_path):
    twice = db.sql("select 1 n, 2 n")
    assert written(write_csv, twice)[1] == "n,n\n1,2\n"
    with pytest.raises(QueryError, match="several columns that are called 'n'"):
        written(write_json, twice)
    with pytest.raises(QueryError, match="several columns that are called 'n'"):
        write_parquet(twice, tmp_path / "x.parquet", None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é ✓", "plain é ✓"),
        ("\x1b]0;title\x07\x1b[2J", "\\x1b]0;title\\x07\\x1b[2J"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("\u202eright", "\\u202eright"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text, shown):
    assert printable(text) == shown
