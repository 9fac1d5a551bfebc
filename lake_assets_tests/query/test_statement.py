import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.errors import QueryError
from lake_assets.query.statement import MOST_CHARACTERS, read_statement


@pytest.fixture(scope="module")
def parser():
    with duckdb.connect(":memory:") as db:
        yield db


def refusal(parser, sql):
    with pytest.raises(QueryError) as refused:
        read_statement(parser, sql)
    return str(refused.value)


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("select 1", ""),
        ("from silver.a", "silver.a"),
        ("select * from a join gold.b using (k) where exists (select 1 from c)", "a gold.b c"),
        ("select (select max(x) from a) from b union all select 1 from c", "a b c"),
        ("describe silver.a", "silver.a"),
        ("with w as (select * from a) select * from w order by (select 1 from b)", "a b w"),
        ("with recursive w(n) as (select 1 union all select n + 1 from w) select * from w", "w w"),
        ("select * from '/etc/passwd'", "/etc/passwd"),
        ("select unnest([1]), i from range(3) r(i), a", "a"),
        ("values (1)", ""),
    ],
)
def test_the_tables_that_a_query_names_are_found_wherever_they_are(parser, sql, tables):
    found = sorted(str(one) for one in read_statement(parser, sql).tables)
    assert found == sorted(tables.split())


@pytest.mark.parametrize(
    "sql",
    [
        "insert into a values (1)",
        "create table a as select 1",
        "drop table a",
        "copy (select 1) to '/tmp/x'",
        "attach '/tmp/x.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "pragma version",
        "call pragma_version()",
        "export database '/tmp/x'",
        "explain select 1",
        "begin",
        "prepare p as select 1",
    ],
)
def test_what_is_no_select_is_refused(parser, sql):
    assert "is no SELECT" in refusal(parser, sql)


def test_a_change_within_a_select_is_refused(parser):
    sql = "with x as (insert into y values (1) returning *) select * from x"
    assert "a part that is no SELECT (INSERT QUERY)" in refusal(parser, sql)


@pytest.mark.parametrize("sql", ["select 1; select 2", "", ";", "-- nothing"])
def test_several_and_none_are_refused(parser, sql):
    assert "is not one SELECT" in refusal(parser, sql) or "cannot be parsed" in refusal(parser, sql)


def test_what_is_no_text_is_refused(parser):
    assert "is no text in UTF-8" in refusal(parser, "select '\udcff'")


def test_every_function_that_makes_rows_is_refused_but_those_that_only_compute(parser):
    """Of all that this DuckDB has, whatever they are called in the next one."""
    names = parser.execute(
        "select distinct function_name from duckdb_functions() where function_type like 'table%'"
    ).fetchall()
    allowed, refused = set(), set()
    for (name,) in names:
        try:
            read_statement(parser, f'select * from "{name}"(1)')  # noqa: S608 - DuckDB's names
        except QueryError as problem:
            refused.add("reads the lake's tables and nothing else" in str(problem))
        else:
            allowed.add(name)
    assert refused == {True}
    assert len(names) > 80
    assert allowed == {"generate_series", "range", "unnest"} | (
        {"json_each", "json_tree"} & {name for (name,) in names}
    )


@pytest.mark.parametrize(
    ("sql", "place"),
    [("selec 1", "(column 1)"), ("select\n  *\nfrm x", "(line 3, column 5)"), ("é +", "column")],
)
def test_what_cannot_be_parsed_is_told_with_its_place(parser, sql, place):
    told = refusal(parser, sql)
    assert "cannot be parsed" in told
    assert place in told


@pytest.mark.parametrize(
    "sql",
    [
        "select " + "(" * 40_000 + "1" + ")" * 40_000,
        "with w as (select a from b where" + "(" * 10_000 + " a > 1) select 1",
        "select " + "1+" * 40_000 + "1",
        "select " + "[" * 3_000 + "]" * 3_000,
        "select * from " + "(select * from " * 5_000 + "t" + ")" * 5_000,
        "select '" + "x" * MOST_CHARACTERS + "'",
        "select __internal_compress_string_hugeint('x')",
    ],
    ids=["parentheses", "open parentheses", "sums", "lists", "subqueries", "text", "internal"],
)
def test_bombs_are_refused(parser, sql):
    assert len(refusal(parser, sql)) < 200


_WORDS = """
select from where with as ( ) , . ; * 1 'x' "y" a silver range read_csv ~ [ ] { } : :: join on union
insert copy describe lateral unnest \x00 é -- /* */ $1 ? @
"""


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.text(max_size=50),
        st.lists(st.sampled_from([*_WORDS.split(), chr(10)]), max_size=20).map(" ".join),
    )
)
def test_whatever_is_written_is_read_or_refused_in_words(parser, sql):
    told = "the query: "
    try:
        read_statement(parser, sql)
    except QueryError as problem:
        told = str(problem)
    assert told.startswith(("the query: ", "function "))
