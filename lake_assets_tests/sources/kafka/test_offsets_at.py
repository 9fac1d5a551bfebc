from datetime import UTC, datetime, timedelta

import pytest

from lake_assets.errors import SourceNotFoundError
from lake_assets.sources.kafka.offsets_at import offsets_at
from lake_assets_tests.events import Topic

pytestmark = pytest.mark.kafka

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_time_is_at_its_first_row_or_at_the_end(services):
    topic = Topic(services)
    topic.create(partitions=1)
    for hour in range(3):
        topic.produce(b"{}", at=NOON + timedelta(hours=hour))
    assert offsets_at(services, topic.name, NOON - timedelta(days=1)) == {0: 0}
    assert offsets_at(services, topic.name, NOON + timedelta(hours=1)) == {0: 1}
    assert offsets_at(services, topic.name, NOON + timedelta(minutes=61)) == {0: 2}
    assert offsets_at(services, topic.name, NOON + timedelta(days=1)) == {0: 3}


def test_a_topic_that_is_not_there_is_told(services):
    with pytest.raises(SourceNotFoundError):
        offsets_at(services, "no-such-topic-here", NOON)
