"""SQL of feeds that tries to reach code, files and other tables: refused when the feed is read."""

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds

FEED = """
feed: games
source: {kafka: {topic: t}}
payload: {json: {schema: "game string, score int, json struct<a: int>"}}
route: {column: game, keys: [uno]}
"""


def refusal(folder, more, head=FEED):
    (folder / "games.yaml").write_text(head + more)
    with pytest.raises(FeedError) as refused:
        load_feeds(folder)
    return str(refused.value)


CODE = [
    "reflect('java.lang.System', 'getenv', 'HOME') is not null",
    "REFLECT ('java.lang.System', 'exit', 1) is null",
    "`reflect`('java.lang.Runtime', 'getRuntime') is null",
    "java_method/* */('java.lang.System', 'getenv', 'HOME') = ''",
    "system.builtin.try_reflect('a', 'b') is null",
    "case when score > 0 then reflect -- so\n('a', 'b') end is null",
    "identifier('ref' || 'lect')('a', 'b') is null",
]


@pytest.mark.parametrize("sql", CODE)
def test_functions_that_run_code_are_refused(tmp_path, sql):
    quoted = sql.replace('"', '\\"').replace("\n", "\\n")
    told = refusal(tmp_path, f'expectations: [{{name: bad, sql: "{quoted}"}}]')
    assert "line 6: expectations[0].sql: " in told
    assert "may not be used" in told


@pytest.mark.parametrize(
    "sql",
    [
        "score in (select score from text.`/etc/passwd`)",
        "exists ( /* */ from csv.`/etc/passwd`)",
        "score > (with x as (select 1 as n) select n from x)",
        "(values (1)) = 1",
    ],
)
def test_an_expectation_reads_its_row_and_nothing_else(tmp_path, sql):
    told = refusal(tmp_path, f'expectations: [{{name: bad, sql: "{sql}"}}]')
    assert "reads other tables, and an expression its own row" in told


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ("select: ['*', \"java_method('a', 'b') as x\"]", "select[1]"),
        ("select: ['*', '(select max(score) from silver) as x']", "select[1]"),
        ("gold: [{name: v, keys: [game], measures: {n: \"max(reflect('a', 'b'))\"}}]", "measures"),
        ("gold: [{name: v, sql: \"select reflect('a', 'b') as x from silver\"}]", "gold[0].sql"),
        ("gold: [{name: v, sql: 'select * from csv.`/etc/passwd`'}]", "gold[0]"),
        ("gold: [{name: v, sql: \"select * from silver, identifier('x')\"}]", "gold[0].sql"),
        ("gold: [{name: v, sql: 'select * from silver join parquet.`/x` using (game)'}]", "gold"),
    ],
)
def test_other_places_are_looked_at_as_well(tmp_path, more, place):
    assert place in refusal(tmp_path, more)


def test_long_gaps_are_looked_through_once(tmp_path):
    gap = "/**/ /***/" * 20_000
    told = refusal(tmp_path, f"expectations: [{{name: bad, sql: \"reflect{gap} ('a') = 1\"}}]")
    assert "reflect() may not be used" in told
    fine = f'expectations: [{{name: fine, sql: "score {gap} > 1"}}]'
    (tmp_path / "games.yaml").write_text(FEED + fine)
    assert load_feeds(tmp_path)


def test_what_only_looks_like_it_is_taken(tmp_path):
    fine = """
expectations: [{name: fine, sql: "json.`a` > 0 and score in (1, 2) and game <> 'reflects'"}]
gold:
  - name: v
    description: Scores (from games); they reflect (mostly) skill.
    sql: "with best as (select max(score) as s from silver) select (select s from best) as top"
"""
    (tmp_path / "games.yaml").write_text(FEED + fine)
    (feed,) = load_feeds(tmp_path)
    assert feed.feed == "games"
