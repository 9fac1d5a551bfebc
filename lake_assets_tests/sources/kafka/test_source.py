from datetime import UTC, datetime

import pytest

from lake_assets.errors import StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import Extent
from lake_assets.model.sources import KafkaSource
from lake_assets.sources.kafka.source import KafkaTopic
from lake_assets.sources.kafka.stream import with_header_texts
from lake_assets_tests.places import t

NOW = datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=UTC)
EXTENT = Extent(begins=t({0: 2, 1: 0}), ends=t({0: 9, 1: 5}))


def topic(starting_offsets="earliest"):
    """A topic of brokers that nobody asks."""
    declared = KafkaSource(topic="t", starting_offsets=starting_offsets)
    return KafkaTopic(declared, Endpoints(kafka="localhost:1", registry=""))


@pytest.mark.parametrize(
    ("declared", "offsets"),
    [
        ("earliest", t({0: 2, 1: 0})),
        ("latest", t({0: 9, 1: 5})),
        ({0: 4}, t({0: 4, 1: 0})),
        ({0: -1, 1: -2}, t({0: 9, 1: 0})),
    ],
)
def test_a_topic_is_begun_where_its_feed_says(declared, offsets):
    assert topic(declared).first_offsets(EXTENT) == offsets


@pytest.mark.parametrize(
    ("declared", "fact"),
    [
        ({0: 1}, "partition 0 of topic 't': has the offsets 2 to 9, and the feed begins at 1"),
        ({0: 10}, "partition 0 .* has the offsets 2 to 9, and the feed begins at 10"),
        ({5: 0}, "partition 5 .* is not there, and the feed begins at 0"),
    ],
)
def test_offsets_that_a_topic_lacks_are_refused(declared, fact):
    with pytest.raises(StreamError, match=fact):
        topic(declared).first_offsets(EXTENT)


def test_the_end_of_a_batch_is_read_from_what_spark_planned():
    assert topic().batch_end('{"t": {"0": 7, "11": 3}}') == t({0: 7, 11: 3})


@pytest.mark.spark
def test_columns_come_in_bronze_s_order_and_headers_as_text(spark, monkeypatch):
    rows = spark.createDataFrame(
        [
            (b"k", b"v", "t", 1, 2**40, NOW, 0, [("h", b"v")]),
            (None, None, "t", 0, 0, NOW, 0, None),
        ],
        "key binary, value binary, topic string, partition int, offset bigint, "
        "timestamp timestamp, timestampType int, headers array<struct<key string, value binary>>",
    )
    monkeypatch.setattr(
        "lake_assets.sources.kafka.stream.read_topic", lambda *_, **__: with_header_texts(rows)
    )
    found = topic().read(spark, starts={}, max_rows=1, tasks=1).toArrow()
    assert found.column_names == KafkaTopic.columns.names
    first, second = found.to_pylist()
    assert first == {
        "key": b"k",
        "value": b"v",
        "headers": '[{"key":"h","value":"dg=="}]',
        "topic": "t",
        "partition": 1,
        "offset": 2**40,
        "kafka_timestamp": NOW,
    }
    assert {name for name, value in second.items() if value is None} == {"key", "value", "headers"}
