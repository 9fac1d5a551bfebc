"""The feed of docs/deduplication.md, run as it stands with the values that stand below it."""

import json
import re
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.tables import bronze_of, duplicates_of
from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import lake_assets_here, sparkless_here
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "deduplication.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def page(settings, services, tmp_path):
    """The feed, caught up; its topic is the test's own."""
    topic = Topic(services)
    topic.produce(*(line.encode() for line in blocks("json")[0].splitlines()))
    folder = tmp_path / "feeds"
    folder.mkdir()
    (text,) = blocks("yaml")
    (folder / "plays.yaml").write_text(text.replace("topic: plays", f"topic: {topic.name}"))
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    made = settings.model_copy(update={"feeds": folder, "kafka": kafka})
    done = lake_assets_here(made, "stream", "--until-caught-up")
    assert done.returncode == 0, done.stderr
    return made


def read(settings, table):
    return DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()


def shown():
    """The rows of the page's table."""
    (table,) = re.findall(r"\| table \| event_id \| at \| coins \|\n\|.*\n((?:\|.*\n)+)", PAGE)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    return sorted((name.strip("`"), event, at, int(coins)) for name, event, at, coins in rows)


def stored(settings):
    feed = find_feed(load_feeds(settings.feeds), "plays")
    return sorted(
        (table.name, row["event_id"] or "", f"{row['at']:%H:%M:%S}", row["coins"])
        for table in map(feed.silver_table, feed.keys)
        for row in read(settings, table)
    )


def test_what_the_page_says_of_its_feed_is_so_also_after_a_rebuild(page):
    assert stored(page) == shown()
    done = lake_assets_here(page, "rebuild", "silver", "--yes")
    assert done.returncode == 0, done.stderr
    assert stored(page) == shown()
    (row,) = read(page, duplicates_of("plays"))
    values = {
        (one["partition"], one["offset"]): json.loads(one["value"])
        for one in read(page, bronze_of("plays"))
    }
    gone = values[row["partition"], row["offset"]]
    first = values[row["first_partition"], row["first_offset"]]
    assert (gone["at"][11:19], first["at"][11:19]) == ("10:20:00", "10:00:01")
    name = f"{row['topic']}/{row['partition']}/{row['offset']}"
    told = sparkless_here(page, "trace", name)
    first_name = f"{row['first_topic']}/{row['first_partition']}/{row['first_offset']}"
    (says,) = blocks("text")
    assert says.strip().replace("plays/0/1", first_name) in " ".join(told.stdout.split())
