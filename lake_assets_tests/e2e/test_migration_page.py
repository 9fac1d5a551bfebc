"""The examples of docs/migrate-from-dlt.md: the DLT code is read, the feeds are run."""

import ast
import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic, framed

PAGE = (Path(__file__).parents[2] / "docs" / "migrate-from-dlt.md").read_text()

OLD = datetime(2026, 11, 19, 8, tzinfo=UTC)
"""Before the line that the page draws by `where`; the topic's events come after it."""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def declared(tmp_path):
    """The page's feeds as they stand, but for where the old rows are."""
    folder = tmp_path / "feeds"
    folder.mkdir()
    for text in blocks("yaml"):
        (name,) = re.findall("^feed: (.*)$", text, re.MULTILINE)
        (folder / f"{name}.yaml").write_text(text.replace("/data/", f"{tmp_path}/"))
    return folder


def calls_of(loop, name):
    """Calls of a method, wherever they are in the DLT code."""
    return [
        call
        for call in ast.walk(loop)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == name
    ]


def expectations_of(loop):
    """Of the DLT code, by name: the decorator that says what is done, and the condition."""
    return {
        ast.literal_eval(call.args[0]): (name, ast.literal_eval(call.args[1]))
        for name in ("expect", "expect_or_drop", "expect_or_fail")
        for call in calls_of(loop, name)
    }


def measures_of(loop):
    """Of the DLT code, by name: the aggregate in SQL, such as `min(event_timestamp)`."""
    return {
        ast.literal_eval(named.args[0]): f"{made[1]}({made[2]})"
        for named in calls_of(loop, "alias")
        if (made := re.fullmatch(r"F\.(\w+)\('(.*)'\)", ast.unparse(named.func.value)))
    }


def tables_of(loop, game):
    """Of the DLT code, by the functions that make them: names of a game's tables."""
    return {
        made.name: eval(ast.unparse(named.value), {"game": game})  # noqa: S307 - the page's names
        for made in ast.walk(loop)
        if isinstance(made, ast.FunctionDef)
        for decorator in made.decorator_list
        if isinstance(decorator, ast.Call)
        for named in decorator.keywords
        if named.arg == "name"
    }


def test_both_sides_name_the_same_games_and_rules(declared):
    feed = find_feed(load_feeds(declared), "games")
    loop = ast.parse(blocks("python")[0])
    (games,) = [
        ast.literal_eval(one.value)
        for one in loop.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "GAMES"
    ]
    assert list(feed.keys) == games
    actions = {"drop": "expect_or_drop", "warn": "expect"}
    ours = {one.name: (actions[one.action], one.sql) for one in feed.expectations}
    assert ours == expectations_of(loop)
    view = feed.gold[0]
    for game in games:
        assert tables_of(loop, game) == {
            "silver": feed.silver_table(game).name,
            "player_agg": feed.gold_table(view, game).name,
        }
    (grouped,) = [ast.literal_eval(call.args[0]) for call in calls_of(loop, "groupBy")]
    assert list(view.keys) == [grouped]
    assert {name: str(sql) for name, sql in view.measures.items()} == measures_of(loop)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.slow
def test_the_feed_has_what_the_loop_had_old_rows_among_it(connected, services, declared, tmp_path):
    topic, games = Topic(services), find_feed(load_feeds(declared), "games").keys
    known = topic.register(0)
    topic.produce(*(framed(known, game, gamer=gamer) for game in games for gamer in ("ann", "")))
    text = (declared / "games.yaml").read_text()
    (declared / "games.yaml").write_text(text.replace("game-stream", topic.name))
    old = [
        {"game_name": game, "gamer_id": "ann", "event_timestamp": at, "device_id": "d0"}
        for game in games
        for at in (OLD, datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC))
    ]
    write_deltalake(tmp_path / "old_events", pa.Table.from_pylist(old))
    settings = connected.model_copy(update={"feeds": declared})
    for command in [line for block in blocks("sh") for line in block.splitlines()]:
        done = lake_assets_here(settings, *command.split()[1:])
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    done = lake_assets_here(settings, "refresh")
    assert done.returncode == 0, done.stderr
    (feed,) = [one for one in load_feeds(declared) if one.feed == "games"]
    for game in games:
        silver = rows_of(settings, feed.silver_table(game))
        players = sorted((row["gamer_id"], row["device_id"]) for row in silver)
        assert players == [("ann", "d0"), ("ann", "d1")]
        (agg,) = rows_of(settings, feed.gold_table(feed.view("player_agg"), game))
        assert (agg["session_count"], agg["min_timestamp"]) == (2, OLD)
    again = lake_assets_here(settings, "backfill", "--feed", "old_games")
    assert again.stdout.startswith("0 rows taken"), again.stderr


def rows_of(settings, table):
    found = DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table()
    return found.to_pylist()
