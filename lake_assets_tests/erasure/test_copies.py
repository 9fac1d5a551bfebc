import pytest

from lake_assets.erasure.copies import copies_outside, without_secrets
from lake_assets.feeds.load import load_feeds
from lake_assets_tests.sample import GAMES


def told(feeds, **more):
    return {copy.what: copy.do for copy in copies_outside(feeds, **more)}


def test_topics_are_told_with_their_retention():
    found = told([GAMES])
    assert "retention" in found["feed games: topic 'game-stream'"]


def test_a_catalogue_and_backups_are_told():
    found = told([GAMES], catalog="unity", has_backups=True)
    assert "ANALYZE" in found["catalogue (unity)"]
    assert any(what.startswith("copies of backups") for what in found)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://user:secret@host:8/path?token=secret#x", "https://host:8/path"),
        ("postgresql://host/base?password=secret", "postgresql://host/base"),
        ("host/base?password=secret", "host/base"),
    ],
)
def test_addresses_are_told_without_secrets(address, shown):
    assert without_secrets(address) == shown


FEED = """
feed: orders
source: {files: {path: /data/orders, format: jsonl, archive: /data/read}}
payload: {json: {schema: "order_id bigint, mail string"}}
sinks:
  - {name: api, from: silver, rest: {url: "https://api.example.com/v1/rows?k=secret"}}
  - {name: base, from: silver, sql: {url: "postgresql://db/app", table: public.orders}}
  - {name: out, from: silver, kafka: {topic: orders-out}}
"""


def test_sinks_and_sources_are_told(tmp_path):
    (tmp_path / "orders.yaml").write_text(FEED)
    found = told(load_feeds(tmp_path))
    assert "/data/read" in found["feed orders: files '/data/orders/*'"]
    assert "feed orders: sink api, the API at https://api.example.com/v1/rows" in found
    assert "feed orders: sink base, table public.orders of postgresql://db/app" in found
    assert "feed orders: sink out, topic orders-out" in found
    assert not any("secret" in what + do for what, do in found.items())
