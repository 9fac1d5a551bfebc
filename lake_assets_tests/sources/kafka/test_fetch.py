from datetime import UTC, datetime
from itertools import chain

import pytest
from confluent_kafka import Producer

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.sources import KafkaSource
from lake_assets.sources.kafka.source import KafkaTopic
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.events import Topic
from lake_assets_tests.sources.kafka.damage import damage

pytestmark = pytest.mark.kafka

AT_MS = 1_763_700_000_123


@pytest.fixture
def topic(services):
    """A topic of two partitions; each list is a batch of records in partition 0."""

    def make(*batches, **config):
        made = Topic(services)
        made.create(2, **config)
        producer = Producer({**client_config(services), "linger.ms": 200})
        for batch in batches:
            for value in batch:
                headers = [("h", b"x")] if value == b"with headers" else None
                producer.produce(
                    made.name, value, b"k", partition=0, timestamp=AT_MS, headers=headers
                )
            assert producer.flush(30) == 0
        return made

    return make


def fetched(topic, start, end, endpoints=None):
    source = KafkaTopic(KafkaSource(topic=topic.name), endpoints or topic.endpoints)
    return list(source.fetch(starts=topic.at({0: start, 1: 0}), ends=topic.at({0: end, 1: 0})))


def offsets(found):
    return list(chain.from_iterable(part.rows["offset"].to_pylist() for part in found))


def test_rows_come_with_all_columns_that_bronze_has_of_them(topic):
    made = topic([b"with headers", None])
    (found,) = fetched(made, 0, 2)
    assert found.rows.schema == KafkaTopic.columns
    first, second = found.rows.to_pylist()
    assert first == {
        "key": b"k",
        "value": b"with headers",
        "headers": [{"key": "h", "value": b"x"}],
        "topic": made.name,
        "partition": 0,
        "offset": 0,
        "kafka_timestamp": datetime.fromtimestamp(AT_MS / 1000, UTC),
    }
    assert (second["value"], second["headers"]) == (None, None)


def test_a_row_whose_time_no_table_can_have_comes_without_it(topic):
    """Nanoseconds taken for milliseconds, at which Spark fails: skipping is the way on."""
    made = topic(**{"message.timestamp.after.max.ms": str(2**63 - 1)})
    producer = Producer(client_config(made.endpoints))
    for at in (AT_MS * 1_000_000, AT_MS):
        producer.produce(made.name, b"x", partition=0, timestamp=at)
    assert producer.flush(30) == 0
    rows = [row for part in fetched(made, 0, 2) for row in part.rows.to_pylist()]
    times = [None, datetime.fromtimestamp(AT_MS / 1000, UTC)]
    assert [row["kafka_timestamp"] for row in rows] == times


def test_just_the_rows_between_the_offsets_come(topic):
    made = topic([b"%d" % n for n in range(5)])
    assert offsets(fetched(made, 1, 3)) == [1, 2]
    assert offsets(fetched(made, 3, 9)) == [3, 4]
    assert fetched(made, 3, 3) == []


def test_rows_come_in_handfuls(topic):
    made = topic([b"x" * 100_000 for _ in range(400)])
    found = fetched(made, 0, 400)
    assert len(found) > 1
    assert offsets(found) == list(range(400))


@pytest.mark.parametrize(
    ("start", "end", "read", "damaged"),
    [
        (0, 9, [0, 1, 6, 7, 8], [(2, 6)]),
        (0, 6, [0, 1], [(2, 6)]),
        (0, 4, [0, 1], [(2, 4)]),
        (3, 8, [6, 7], [(3, 6)]),
        (6, 9, [6, 7, 8], []),
    ],
)
def test_a_damaged_batch_is_passed_over_exactly(topic, pytestconfig, start, end, read, damaged):
    made = topic([b"a", b"b"], [b"DAMAGED", b"c", b"d", b"e"], [b"f", b"g", b"h"])
    damage(pytestconfig, made.name, b"DAMAGED")
    found = fetched(made, start, end)
    assert offsets(found) == read
    assert [r for part in found for r in part.unreadable.get((made.name, 0), ())] == damaged


def test_damaged_batches_beside_each_other_and_at_the_end_are_told_one_by_one(topic, pytestconfig):
    made = topic([b"a"], [b"DAMAGED1", b"b"], [b"DAMAGED2"], [b"c"], [b"DAMAGED3"])
    for text in (b"DAMAGED1", b"DAMAGED2", b"DAMAGED3"):
        damage(pytestconfig, made.name, text)
    found = fetched(made, 0, 6)
    assert offsets(found) == [0, 4]
    ranges = [r for part in found for r in part.unreadable.get((made.name, 0), ())]
    assert ranges == [(1, 3), (3, 4), (5, 6)]


def test_rows_that_are_there_no_more_are_an_error_and_not_passed_over(topic):
    made = topic([b"%d" % n for n in range(5)])
    made.delete_rows(0, before=3)
    with pytest.raises(SourceError):
        fetched(made, 1, 5)


def test_a_broker_that_does_not_answer_is_an_error():
    nobody = Endpoints(kafka="localhost:1", registry="")
    source = KafkaTopic(KafkaSource(topic="t"), nobody)
    with pytest.raises(SourceError, match="cannot be reached"):
        next(source.fetch(starts={("t", 0): 0}, ends={("t", 0): 1}, timeout_s=2.0))


def test_nothing_is_asked_for_no_rows():
    nobody = Endpoints(kafka="localhost:1", registry="")
    source = KafkaTopic(KafkaSource(topic="t"), nobody)
    assert list(source.fetch(starts={("t", 0): 4}, ends={("t", 0): 4})) == []
