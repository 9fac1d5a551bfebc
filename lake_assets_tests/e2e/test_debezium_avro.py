"""Debezium's envelope in Avro, of docs/keyed-tables.md: a real topic and registry."""

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.tables import quarantine_of
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.e2e.page_example import run_example
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]


def test_the_delete_deletes_and_its_tombstone_is_told_of(connected, services, tmp_path):
    folder = tmp_path / "feeds"
    settings, silver = run_example(
        "keyed-tables.md", "accounts", Topic(services), connected, folder
    )
    assert silver["accounts"].num_rows == 6
    done = lake_assets_here(settings, "refresh")
    assert done.returncode == 0, done.stderr
    feed = find_feed(load_feeds(folder), "accounts")

    def read(table):
        return DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()

    rows = read(feed.gold_table(feed.view("current"), "accounts"))
    found = sorted((row["id"], row["name"], row["lsn"]) for row in rows)
    assert found == [(1, "anne", 140), (3, None, 160)]
    assert "op" not in rows[0]
    (tombstone,) = read(quarantine_of("accounts"))
    assert tombstone["reason"] == "empty_value"
