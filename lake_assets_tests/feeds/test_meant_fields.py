import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds

FEED = """feed: f
source: {kafka: {topic: t}}
payload: {json: {schema: 'at timestamp, who string'}}
sinks:
  - {name: one, from: silver, kafka: {topic: x}}
  - {name: two, from: silver, kafka: {topic: y}}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("two, from: silver", "two, from: gold.none", 6),
        ("topic: x", "topic: t", 5),
        ("name: two", "name: one", 6),
    ],
)
def test_what_is_wrong_with_a_sink_among_others_is_told_where_it_is(tmp_path, right, wrong, line):
    (tmp_path / "f.yaml").write_text(FEED.replace(right, wrong))
    with pytest.raises(FeedError) as caught:
        load_feeds(tmp_path)
    assert caught.value.line == line


def test_the_second_of_two_views_of_one_name_is_told(tmp_path):
    view = "  - {name: v, keys: [who], measures: {n: count(*)}}\n"
    (tmp_path / "f.yaml").write_text(f"{FEED}gold:\n{view}{view}")
    with pytest.raises(FeedError, match="two views are called v") as caught:
        load_feeds(tmp_path)
    assert caught.value.line == 9
