"""The feeds of docs/json-and-csv.md, run as they stand with the values that stand below them."""

import re
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.tables import SCHEMA_LOG
from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import lake_assets_here, result_of, sparkless_here
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "json-and-csv.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def page(settings, services, tmp_path):
    """Both feeds in one lake, caught up; their topics are the test's own."""
    folder = tmp_path / "feeds"
    folder.mkdir()
    values = {"moves": blocks("json")[0], "beats": blocks("csv")[0]}
    for text in (one for one in blocks("yaml") if "subject:" not in one):
        (name,) = re.findall(r"^feed: (\w+)", text)
        topic = Topic(services)
        topic.produce(*(line.encode() for line in values.pop(name).splitlines()))
        (folder / f"{name}.yaml").write_text(text.replace(f"topic: {name}", f"topic: {topic.name}"))
    assert not values
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    made = settings.model_copy(update={"feeds": folder, "kafka": kafka})
    done = lake_assets_here(made, "stream", "--until-caught-up")
    assert done.returncode == 0, done.stderr
    return made


def silver(settings, name):
    feed = find_feed(load_feeds(settings.feeds), name)
    table = feed.silver_table(feed.keys[0])
    assert f"`{table.name}`" in PAGE or name != "moves"
    rows = DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: row["_offset"] * 10 + row["_partition"])


def test_what_the_page_says_of_its_feeds_is_so(page):
    (table,) = re.findall(r"\| column \| type \| why \|\n\|.*\n((?:\|.*\n)+)", PAGE)
    rows = [
        [cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in table.splitlines()
    ]
    shown = sparkless_here(page, "schemas", "--feed", "moves", "--json")
    told = result_of(shown)
    newest = {entry["column"]: [entry["type"], entry["why"]] for entry in told}
    assert newest == {name: [kind, why] for name, kind, why in rows}
    moves = {row["player"]: row for row in silver(page, "moves")}
    assert (moves["ann"]["points"], moves["bob"]["points"], moves["cyd"]["points"]) == (
        3.0,
        2.5,
        None,
    )
    assert moves["cyd"]["card"] == {"suit": "clubs", "value": 7}
    for player in ("bob", "cyd"):
        assert f"`{moves[player]['_rescued']}`" in PAGE
    beats = {row["time"].second: row for row in silver(page, "beats")}
    assert (beats[0]["model"], beats[0]["heart_bpm"], beats[0]["kcal"]) == ("pulse", 72, 1.5)
    assert (beats[1]["model"], beats[1]["heart_bpm"], beats[1]["kcal"]) == ("vita;2", None, None)
    assert (beats[2]["model"], beats[2]["heart_bpm"]) == ("pulse", None)
    for second in (1, 2):
        assert f"`{beats[second]['_rescued']}`" in PAGE
    # And the page's query runs.
    log = DeltaTable(page.lake_dir / SCHEMA_LOG.relative).to_pyarrow_table()
    with duckdb.connect() as db:
        found = db.from_arrow(log).query("schema_log", blocks("sql")[0]).fetchall()
    assert len(found) == len(told)
    overview = sparkless_here(page, "tables", "--json")
    assert "schema_log" in {table["table"] for table in result_of(overview)}
