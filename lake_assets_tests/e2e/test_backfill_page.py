"""The example of docs/backfill.md, run as it stands."""

import re
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "backfill.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def page(settings, services, tmp_path):
    topic, folder, old = Topic(services), tmp_path / "feeds", tmp_path / "old" / "2025"
    topic.produce(*(line.encode() for line in blocks("json")[0].splitlines()))
    folder.mkdir()
    old.mkdir(parents=True)
    for text in blocks("yaml"):
        (name,) = re.findall("^feed: (.*)$", text, re.MULTILINE)
        here = text.replace("topic: plays", f"topic: {topic.name}")
        (folder / f"{name}.yaml").write_text(here.replace("/data/old", str(old.parent)))
    (old / "plays.csv").write_text(blocks("csv")[0])
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    return settings.model_copy(update={"feeds": folder, "kafka": kafka})


def coins(settings):
    feed = find_feed(load_feeds(settings.feeds), "plays")
    tables = [feed.gold_table(feed.view("totals"), key) for key in feed.keys]
    rows = [
        row
        for table in tables
        for row in DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()
    ]
    return Counter({(row["player"], row["plays"]): row["coins"] for row in rows})


def test_the_page_does_what_it_says(page, tmp_path):
    stream, backfill = blocks("sh")[0].splitlines()
    done = lake_assets_here(page, *stream.split()[1:])
    assert done.returncode == 0, done.stderr
    done = lake_assets_here(page, *backfill.split()[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace(str(tmp_path), "/data") == blocks("text")[0]
    assert coins(page) == {("ann", 2): 12, ("bob", 3): 5}
    again = lake_assets_here(page, *backfill.split()[1:])
    assert again.stdout.startswith("0 rows taken"), again.stderr
    (page.feeds / "old_plays.yaml").unlink()
    rebuilt = lake_assets_here(page, "rebuild", "silver", "--yes")
    assert rebuilt.returncode == 0, rebuilt.stderr
    feed = find_feed(load_feeds(page.feeds), "plays")
    silver = DeltaTable(page.lake_dir / feed.silver_table("uno").relative).to_pyarrow_table()
    places = silver.select(["_feed", "_file", "_row"]).to_pylist()
    assert {"_feed": "old_plays", "_file": "2025/plays.csv", "_row": 2} in places
    assert silver.num_rows == 2
