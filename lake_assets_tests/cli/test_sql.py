import json
import signal
import subprocess
import sys

import duckdb
import pytest

from lake_assets.settings.load import child_environment
from lake_assets_tests.backup.lakes import FISH, UNO, BatchedLake
from lake_assets_tests.commandline import COMMAND, sparkless_here
from lake_assets_tests.e2e.dev import wait_for


@pytest.fixture
def lake(settings):
    found = BatchedLake(settings)
    found.demux(UNO, FISH)
    found.committer.close()
    return settings


def test_a_result_is_a_table(lake):
    done = sparkless_here(lake, "sql", "select 41 + count(*) as answer from silver_uno_events")
    assert done.returncode == 0, done.stderr
    assert ("answer" in done.stdout, "42" in done.stdout) == (True, True)


def test_a_table_shows_so_many_rows_and_says_that_there_are_more(settings):
    done = sparkless_here(settings, "sql", "select 'row' || i as r from range(1000) t(i)")
    assert (done.stdout.count("row"), done.stderr) == (
        100,
        "the first 100 rows; --limit shows more\n",
    )
    more = sparkless_here(settings, "sql", "from range(150)", "--limit", "120")
    assert (more.stdout.count("│\n"), more.stderr) == (120, "")


def test_json_and_csv_go_to_standard_output(lake):
    sql = "select 1 as n, 'x' as s from silver_uno_events"
    assert sparkless_here(lake, "sql", sql, "--format", "csv").stdout == 'n,s\n1,"x"\n'
    done = sparkless_here(lake, "sql", sql, "--format", "jsonl")
    assert json.loads(done.stdout) == {"n": 1, "s": "x"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "table"])
def test_a_file_is_there_whole_or_as_it_was(settings, tmp_path, kind):
    file = tmp_path / f"out.{kind}"
    file.write_text("before")
    failing = "select case when i = 150000 then error('late') end from range(200000) t(i)"
    arguments = ("--format", kind, "--output", str(file), "--limit", "200000")
    done = sparkless_here(settings, "sql", failing, *arguments)
    assert (done.returncode, file.read_text()) == (1, "before")
    assert "late" in done.stderr
    done = sparkless_here(settings, "sql", "select 7 as n", *arguments)
    assert (done.returncode, done.stderr.split(" rows")[0]) == (0, "1")
    assert sorted(path.name for path in tmp_path.glob("*out*")) == [file.name]
    if kind != "table":
        assert duckdb.sql(f"from '{file}'").fetchall() == [(7,)]


def test_a_link_stays_one(lake, tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "there.csv")
    done = sparkless_here(
        lake, "sql", "select 1 x", "--format", "csv", "--output", str(tmp_path / "link.csv")
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "there.csv").read_text() == "x\n1\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "parquet"], "Name an --output"),
        (["--output", "{home}/lake/silver/x.csv"], "is in the lake. Write it elsewhere"),
        (["--output", "{home}"], "is a folder"),
        (["--output", "/dev/null"], "is no file"),
        (["--output", "/proc/x/y"], "cannot be written"),
    ],
)
def test_an_output_that_cannot_be_is_told_in_a_line(lake, arguments, told):
    words = [word.format(home=lake.home) for word in arguments]
    done = sparkless_here(lake, "sql", "select 1", *words)
    assert (done.returncode, told in done.stderr, done.stderr.count("\n")) == (1, True, 1)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_query_that_fails_late_is_no_fault_of_its_output(lake, tmp_path, kind):
    query = "select (case when i = 400000 then 'x' else '1' end)::int c from range(500000) r(i)"
    file = tmp_path / "x"
    done = sparkless_here(lake, "sql", query, "--format", kind, "--output", str(file))
    assert done.returncode == 1
    assert done.stderr == "error: the query: Could not convert string 'x' to INT32. Correct it\n"
    assert not file.exists()


def test_a_query_that_cannot_run_is_told_in_a_line(lake):
    done = sparkless_here(lake, "sql", "select * from silver_un_events")
    assert done.returncode == 1
    assert done.stderr == (
        "error: table silver_un_events: is not in the lake (column 15). "
        "Did you mean silver.silver_uno_events?\n"
    )


def test_without_duckdb_it_says_what_to_install(settings, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("lake_assets.query")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = sparkless_here(settings, "sql", "select 1")
    assert (done.returncode, "pip install 'lake-assets[sql]'" in done.stderr) == (1, True)


def test_ctrl_c_ends_a_query_wherever_it_is(settings):
    sql = "select count(*) from range(100000000000) a, range(1000) b where a.range % 7 = b.range"
    with subprocess.Popen(  # noqa: S603 - our own command line
        [*COMMAND, "sql", sql, "--memory-mb", "256"],
        env=child_environment(settings) | {"TMPDIR": str(settings.home.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_for(lambda: [*settings.home.parent.glob("lake-assets-sql-*")], "it", within_s=120)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode in {1, 130}
    assert "Traceback" not in told, told
    assert [*settings.home.parent.glob("lake-assets-sql-*")] == []
