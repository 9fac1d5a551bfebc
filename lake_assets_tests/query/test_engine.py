"""Queries over real tables, and attempts to reach what is none of them."""

import io
import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.delta.commit import Batch
from lake_assets.errors import QueryError
from lake_assets.query.engine import MEMORY_BYTES, connected, run_query
from lake_assets.query.results import text_rows, write_csv, write_json
from lake_assets.storage.local import LocalStore
from lake_assets_tests.delta.stores import in_bucket
from lake_assets_tests.query.lakes import OTHERS, ROWS, UNO, fill


@pytest.fixture
def lake(tmp_path, committer, land):
    fill(committer, land, (UNO, *OTHERS))
    return LocalStore.at(tmp_path)


def rows(lake, sql, **options):
    return run_query(lake, sql, lambda result: list(text_rows(result)), **options)


def refusal(lake, sql, **options):
    with pytest.raises(QueryError) as refused:
        rows(lake, sql, **options)
    return str(refused.value)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select n, name from silver.silver_uno_events where n = 3", [("3", None)]),
        ("select count(*) from silver.silver_uno_events a, log.quality_log b", [("9",)]),
        ("select n from Silver.SILVER_UNO_EVENTS where isnan(score)", [("2",)]),
        ("select tags, seen_at::date from silver_uno_events where n=1", [('["a"]', "1970-01-01")]),
        ("with w as (select n from silver_uno_events) select sum(n) from w", [("6",)]),
        ("with silver_uno_events as (select 7 as n) select n from silver_uno_events", [("7",)]),
        ("select n, n from silver_uno_events limit 1", [("1", "1")]),
        ("select n from silver_uno_events limit 1 -- the end", [("1",)]),
        ("select count(*) from silver_uno_events a join silver_uno_events b using (n);", [("3",)]),
    ],
)  # fmt: skip
def test_a_query_reads_tables_by_their_names(lake, sql, expected):
    assert rows(lake, sql) == expected


def test_a_table_may_be_called_anything(lake, tmp_path):
    for number in range(2):
        folder = tmp_path / "gold" / f"rows_{number}"
        write_deltalake(folder, pa.table({"n": [number]}))
    assert rows(lake, "select a.n, b.n from rows_0 a, rows_1 b") == [("0", "1")]
    assert rows(lake, "select a.n, b.n from rows_1 a, rows_0 b") == [("1", "0")]


def test_columns_are_described(lake):
    assert [row[:2] for row in rows(lake, "describe silver_uno_events")] == [
        ("n", "BIGINT"),
        ("name", "VARCHAR"),
        ("score", "DOUBLE"),
        ("seen_at", "TIMESTAMP WITH TIME ZONE"),
        ("tags", "VARCHAR[]"),
    ]


def test_only_tables_that_are_named_are_opened(lake, tmp_path):
    for other in OTHERS:
        (tmp_path / other.relative / "_delta_log" / f"{1:020}.json").write_text("torn")
    assert rows(lake, "select count(*) from silver_uno_events") == [("3",)]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select * from silver_un_events", "Did you mean silver.silver_uno_events?"),
        ("select nam from silver_uno_events", "(column 8). The nearest column is name"),
        ("select lenght(name) from silver_uno_events", '(column 8). Did you mean "length"?'),
        ("select name::int from silver_uno_events", "Could not convert string 'ann' to INT32"),
        ("select n from silver_uno_events group by name", 'column "n" must appear in the GROUP BY'),
        ("select * from information_schema.tables", "is not in the lake"),
        ("select error('a' || chr(10) || 'b')", "the query: a. Correct it"),
    ],
)  # fmt: skip
def test_errors_are_one_line_of_plain_words(lake, sql, told):
    found = refusal(lake, sql)
    assert told in found
    assert "\n" not in found


def test_a_lake_without_tables_says_what_to_do(tmp_path):
    assert "run `lake-assets stream`" in refusal(LocalStore.at(tmp_path), "select * from x")


FILES_AND_HOSTS = [
    "select * from '{file}'",
    'select * from "{file}"',
    "select * from read_csv('{file}')",
    "select * from read_text('{file}')",
    "select content from read_blob('{file}')",
    "select * from main.read_csv_auto('{file}')",
    "select * from parquet_scan('{file}')",
    "select * from glob('{folder}/*')",
    "select * from sniff_csv('{file}')",
    "select * from query('select * from read_text(''{file}'')')",
    "select * from query_table('{file}')",
    "select * from 'http://127.0.0.1:1/x.csv'",
    "select * from 's3://bucket/x.parquet'",
    "select * from read_parquet('http://127.0.0.1:1/x')",
    "copy (select 1) to '{folder}/out.csv'",
    "copy kept from '{file}'",
    "attach '{folder}/x.db' as y",
    "export database '{folder}/x'",
    "install json from '{folder}'",
    "load '{file}'",
    "set enable_external_access = true",
    "set temp_directory = '{folder}'",
    "set memory_limit = '100GB'",
    "set python_enable_replacements = true",
    "select * from local_of_python",
]
"""What DuckDB itself is told to refuse as well."""

MEMORY_AND_MORE = [
    "select * from arrow_scan(1, 2, 3)",
    "select * from python_arrow_scan(1, 2, 3)",
    "select * from pandas_scan(1)",
    "select * from seq_scan('x')",
    "select * from duckdb_settings()",
    "select * from duckdb_secrets()",
    "select * from json_execute_serialized_sql('')",
    "create table x as select 1",
    "drop view silver.silver_uno_events",
    "delete from silver_uno_events",
    "select * from rows_0",
]


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.csv").write_text("secret\nmarked\n")
    yield {"file": folder / "secret.csv", "folder": folder}
    assert [path.name for path in folder.iterdir()] == ["secret.csv"]


@pytest.mark.parametrize("sql", FILES_AND_HOSTS + MEMORY_AND_MORE)
def test_nothing_but_the_tables_can_be_reached(lake, outside, sql):
    local_of_python = [1]  # which DuckDB finds by its name, if it is let
    assert "marked" not in refusal(lake, sql.format(**outside))
    del local_of_python


@pytest.mark.parametrize("sql", FILES_AND_HOSTS)
def test_duckdb_itself_refuses_it_where_nobody_looks_at_the_query_first(tmp_path, outside, sql):
    local_of_python = [1]
    with connected(tmp_path, MEMORY_BYTES) as db:
        db.execute("create table kept (secret varchar)")
        with pytest.raises(duckdb.Error):
            db.execute(sql.format(**outside)).fetchall()
        assert db.execute("select * from kept").fetchall() == []
    del local_of_python


def test_what_does_not_fit_into_memory_goes_to_a_folder_that_is_gone_afterwards(lake):
    before = _scratch()
    sql = "select count(*) from (select distinct i, repeat('x', 50) from range(600000) r(i))"
    assert rows(lake, sql, memory_bytes=48_000_000) == [("600000",)]
    assert _scratch() == before


def _scratch():
    return set(Path(os.environ.get("TMPDIR", "/tmp")).glob("lake-assets-sql-*"))  # noqa: S108, TID251


@pytest.mark.parametrize(
    "sql",
    [
        "select list(i) from range(100000000) r(i)",
        "select length(repeat('x', 4000000000))",
    ],
)
def test_what_needs_too_much_memory_is_refused(lake, sql):
    assert "needs more memory than it may have" in refusal(lake, sql, memory_bytes=48_000_000)


def test_a_file_that_is_gone_is_told(lake, tmp_path):
    for file in (tmp_path / UNO.relative).glob("*.parquet"):
        file.unlink()
    told = refusal(lake, "select n from silver_uno_events")
    assert "is not there any more" in told


@pytest.mark.usefixtures("lake")
def test_tables_of_a_bucket_are_read_where_they_are(tmp_path, bucket, s3):
    there = in_bucket(bucket, s3)
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        place = there.root / file.relative_to(tmp_path).as_posix()
        assert there.put_if_absent(place, file.read_bytes())
    sql = "select a.n, b.name from silver_uno_events a join silver_go_fish_events b using (n) "
    assert rows(there, sql + "where a.n = 2") == [("2", "bob")]


def test_a_query_reads_what_was_committed_last(lake, committer, land):
    nine = ROWS.slice(0, 1).set_column(0, ROWS.schema.field("n"), [[9]])
    committer.append([land(UNO, nine)], Batch("fill-more", 9))
    assert rows(lake, "select max(n) from silver_uno_events") == [("9",)]


@pytest.mark.parametrize("write", [write_csv, write_json])
def test_what_fails_after_the_first_rows_is_told(lake, write):
    sql = "select (case when i = 400000 then 'x' else '1' end)::int c from range(500000) r(i)"
    out = io.StringIO()
    with pytest.raises(QueryError, match="Could not convert string 'x'"):
        run_query(lake, sql, lambda result: write(result, out, None))


def test_a_file_that_is_damaged_is_told(lake, tmp_path):
    for file in (tmp_path / UNO.relative).glob("*.parquet"):
        file.write_bytes(b"x" * file.stat().st_size)
    with pytest.raises(QueryError, match="a table's file cannot be read") as raised:
        run_query(
            lake, "from silver_uno_events", lambda result: write_csv(result, io.StringIO(), None)
        )
    assert "/rows/" not in str(raised.value)


def test_a_result_that_cannot_be_written_is_not_the_querys_fault(lake):
    def write(_):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        run_query(lake, "select 1", write)
