import re

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds

FEED = """
feed: orders
source:
  delta:
    path: /data/orders
payload: {json: {schema: "id int"}}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("{json:", "{csv:", "rows of a Delta table go with `json`, not with `csv`"),
        ('{json: {schema: "id int"}}', "{json: {subject: x}}", "no registered schema"),
        ("payload", "route: {header: kind, keys: [a]}\npayload", "a Delta table have no header"),
        ("payload", "routes: [{topic: true, keys: [a]}]\npayload", "a Delta table have no topic"),
        ("/data/orders", "data/orders", "is no absolute path"),
        ("/data/orders", "/data/orders\n    starting_version: -1", "starting_version"),
        ("/data/orders", "/data/orders\n    read: all", "read"),
        ("id int", "_source_version int", "_source_version"),
    ],
)
def test_what_a_delta_table_has_not_is_refused(tmp_path, right, wrong, told):
    assert right in FEED
    (tmp_path / "orders.yaml").write_text(FEED.replace(right, wrong))
    with pytest.raises(FeedError, match=re.escape(told)):
        load_feeds(tmp_path)


def test_reading_changes_and_passing_over_them_is_refused(tmp_path):
    both = "/data/orders\n    read: changes\n    skip_change_commits: true"
    (tmp_path / "orders.yaml").write_text(FEED.replace("/data/orders", both))
    with pytest.raises(FeedError, match="Declare one of them"):
        load_feeds(tmp_path)


def test_a_feed_of_a_delta_table_is_told_by_its_path(tmp_path):
    (tmp_path / "orders.yaml").write_text(FEED)
    (feed,) = load_feeds(tmp_path)
    assert feed.source.declared.title == "Delta table '/data/orders'"
