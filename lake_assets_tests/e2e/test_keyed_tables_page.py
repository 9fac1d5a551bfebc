"""The feed of docs/keyed-tables.md, run as it stands with the values that stand below it."""

import re
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.tables import quarantine_of
from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "keyed-tables.md").read_text()


def block(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0]


def told(view):
    """The rows that the page shows of a view's table, as text, by column."""
    after = PAGE[PAGE.index(f"`gold_customers_{view}`") :]
    (head, _, *rows) = re.findall(r"^\|(.*)\|$", after[: after.index("\n\n", 120)], re.MULTILINE)
    names = [name.strip() for name in head.split("|")]
    return [
        dict(zip(names, (cell.strip() for cell in row.split("|")), strict=True)) for row in rows
    ]


@pytest.fixture
def page(settings, services, tmp_path):
    topic = Topic(services)
    topic.produce(*(line.encode() for line in block("json").splitlines()))
    folder = tmp_path / "feeds"
    folder.mkdir()
    text = block("yaml").replace("shop.public.customers", topic.name)
    (folder / "customers.yaml").write_text(text)
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    made = settings.model_copy(update={"feeds": folder, "kafka": kafka})
    for command in (("stream", "--until-caught-up"), ("refresh",)):
        done = lake_assets_here(made, *command)
        assert done.returncode == 0, done.stderr
    return made


def test_what_the_page_says_of_its_feed_is_so(page):
    feed = find_feed(load_feeds(page.feeds), "customers")
    for view, order in (("current", "id"), ("history", "__start_at")):
        table = feed.gold_table(feed.view(view), "customers")
        found = DeltaTable(page.lake_dir / table.relative).to_pyarrow_table().to_pylist()
        rows = sorted(found, key=lambda row: (row["id"], row[order]))
        wanted = told(view)
        assert wanted
        texts = [
            {name: "" if row[name] is None else str(row[name]) for name in wanted[0]}
            for row in rows
        ]
        assert texts == wanted
        assert "op" not in found[0]
    place = page.lake_dir / quarantine_of("customers").relative
    (refused,) = DeltaTable(place).to_pyarrow_table().to_pylist()
    assert "current_has_key_and_order" in refused["detail"]
    assert "`current_has_key_and_order`" in PAGE
