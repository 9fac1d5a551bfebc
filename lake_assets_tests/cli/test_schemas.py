import json
import re

import pytest

from lake_assets.cli.console import stdout
from lake_assets.logs.schema_log import record_changes
from lake_assets.model.schema_history import Reason, RegisteredVersion, Why, changes
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.commandline import sparkless_here

INFERRED = Reason(Why.INFERRED)


@pytest.fixture
def lake(settings):
    """Two keys with a column that got wider, of one key alone; a registry's version."""
    one = RegisteredVersion(
        version=1, schema_id=7, schema=b"x", note="is not valid", subject="games-value"
    )
    with open_lake(settings) as context:
        for columns in (
            {"uno": {"a": "int"}, "chess": {"a": "int"}},
            {"uno": {"a": "bigint"}},
            {"chess": {}},
        ):

            def changed(kept, columns=columns):
                return changes(kept, columns, [one], lambda *_: INFERRED)

            record_changes(context, "games", changed)
    return settings


def shown(lake, *arguments):
    done = sparkless_here(lake, "schemas", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_change_is_a_line_with_its_time_and_why(lake, monkeypatch):
    monkeypatch.setattr(stdout, "width", 160)
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in shown(lake, "--feed", "games").splitlines()
        if line.startswith("│")
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row[0]) for row in rows)
    assert [row[1:] for row in rows] == [
        ["", "", "", "registry, version 1 of games-value (id 7): is not valid", ""],
        ["a", "int", "", "inferred", "all"],
        ["a", "bigint", "int", "inferred", "uno"],
        ["a", "-", "int", "dropped", "chess"],
    ]


def test_of_a_key_its_own_changes_are_shown_and_the_versions(lake):
    told = json.loads(shown(lake, "--feed", "games", "--key", "uno", "--json"))["result"]
    assert [(e["key"], e["column"], e["type"], e["before"], e["why"]) for e in told] == [
        (None, None, None, None, "registry"),
        ("uno", "a", "int", None, "inferred"),
        ("uno", "a", "bigint", "int", "inferred"),
    ]
    assert (told[0]["version"], told[0]["schema_id"], told[0]["note"]) == (1, 7, "is not valid")
    assert told[0]["time"].endswith("+00:00")


def test_the_command_changes_nothing(lake):
    before = sorted((p, p.stat().st_mtime_ns) for p in lake.lake_dir.rglob("*"))
    shown(lake, "--feed", "games")
    assert sorted((p, p.stat().st_mtime_ns) for p in lake.lake_dir.rglob("*")) == before


def test_before_the_first_start_there_is_nothing(settings):
    assert "nothing is kept of feed games yet" in shown(settings)
    assert json.loads(shown(settings, "--json"))["result"] == []
    assert not settings.lake_dir.exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--feed", "moves"], "feed 'moves': is not declared"),
        (["--feed", "games", "--key", "whist"], "whist"),
    ],
)
def test_what_is_not_there_is_named(lake, arguments, problem):
    done = sparkless_here(lake, "schemas", *arguments)
    assert done.returncode == 1
    assert problem in done.stderr


def test_a_feed_without_silver_tables_is_told_of(settings, tmp_path):
    (tmp_path / "plays.yaml").write_text(
        "feed: plays\nsilver: none\nsource: {kafka: {topic: plays}}\n"
        'payload: {json: {schema: "player string"}}\n'
        "sinks: [{name: api, from: bronze, rest: {url: 'https://example.com/plays'}}]\n"
    )
    made = settings.model_copy(update={"feeds": tmp_path})
    assert "feed plays has no silver tables" in " ".join(shown(made).split())
