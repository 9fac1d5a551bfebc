import httpx
import pytest

from benchmarks.topic import keys_of, topic_of
from lake_assets.errors import SourceError
from lake_assets.sources.kafka.topics import end_offsets


def test_games_are_numbered():
    assert keys_of(2) == ("game_000", "game_001")
    assert keys_of(1001)[-1] == "game_1000"


@pytest.mark.kafka
def test_a_topic_is_full_and_then_gone(services):
    with topic_of(services, tables=3, events=500) as topic:
        name = topic.feed.source.kafka.names[0]
        assert sum(end_offsets(services, name).values()) == topic.events == 500
        assert topic.feed.route.keys == keys_of(3)
        assert topic.feed.expectations
        assert topic.value_bytes > 500 * 50
    with pytest.raises(SourceError, match="does not exist"):
        end_offsets(services, name)
    subject = topic.feed.payload.subject
    assert subject not in httpx.get(f"{services.registry}/subjects", timeout=30).json()
