import re
from pathlib import Path

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds

FEED = """
feed: play
source:
  kinesis:
    stream: play-events
    region: eu-central-1
payload: {json: {schema: "id int"}}
"""

TOMBSTONES = """payload: {json: {schema: "id int"}}
gold: [{name: current, keyed: {by: id, order: _ordinal, tombstones: true}}]"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("payload", "route: {header: kind, keys: [a]}\npayload", "Kinesis have no header"),
        ('{json: {schema: "id int"}}', "{avro: {}}", "Give `subject`, or `subjects`"),
        ("stream: play-events", "stream: 'a b'", "is no name of a stream"),
        ("region: eu-central-1", "access_key: {id: AKIA, secret: x}", "access_key"),
        ("id int", "_shard_id int", "_shard_id"),
        (
            'payload: {json: {schema: "id int"}}',
            TOMBSTONES,
            "a partition key of Kinesis does not say what it deletes",
        ),
    ],
)
def test_what_a_stream_has_not_is_refused(tmp_path, right, wrong, told):
    assert right in FEED
    (tmp_path / "play.yaml").write_text(FEED.replace(right, wrong))
    with pytest.raises(FeedError, match=re.escape(told)):
        load_feeds(tmp_path)


@pytest.mark.parametrize("payload", ["{avro: {subject: play}}", "{protobuf: {subject: play}}"])
def test_framed_values_go_with_a_stream(tmp_path, payload):
    text = FEED.replace('{json: {schema: "id int"}}', payload)
    (tmp_path / "play.yaml").write_text(text)
    (feed,) = load_feeds(tmp_path)
    assert feed.source.declared.title == "Kinesis stream 'play-events'"


def test_the_page_s_feeds_are_some(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "kinesis.md").read_text()
    for number, text in enumerate(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)):
        (tmp_path / f"{number}.yaml").write_text(text)
    assert [feed.source.kind for feed in load_feeds(tmp_path)] == ["kinesis"]
