import json

import pytest
from confluent_kafka.admin import AdminClient

from lake_assets.errors import SourceError
from lake_assets.export.plan import Range
from lake_assets.export.reading import RecordsGoneError, _Fetched, read_range, topic_facts
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.events import Topic
from lake_assets_tests.export.topics import fill, numbers, transaction


def read(topic, first, after, **options):
    due = Range(partition=0, first=first, after=after)
    reads = list(read_range(topic.endpoints, topic.name, due, stop=lambda: False, **options))
    values = [message.value() for one in reads for message in one.messages]
    return values, reads[-1].position


@pytest.fixture
def topic(services):
    made = Topic(services)
    made.create(1)
    return made


@pytest.mark.kafka
def test_just_the_records_of_a_range_come(topic):
    fill(topic, *numbers(0, 10))
    assert read(topic, 2, 5) == (numbers(2, 5), 5)
    assert read(topic, 9, 10) == (numbers(9, 10), 10)


@pytest.mark.kafka
def test_a_range_ends_where_no_record_is(topic):
    """Offsets 3 to 103 were aborted, and 104 has the marker."""
    fill(topic, *numbers(0, 3))
    transaction(topic, *numbers(3, 104), commits=False)
    for after in (4, 103, 104, 105):
        assert read(topic, 0, after) == (numbers(0, 3), after)
        assert read(topic, 3, after) == ([], after)


@pytest.mark.kafka
def test_records_that_were_deleted_are_told(topic):
    fill(topic, *numbers(0, 10))
    topic.delete_rows(0, before=5)
    with pytest.raises(RecordsGoneError):
        read(topic, 4, 10)


@pytest.mark.kafka
def test_a_topic_is_told_with_its_cluster_its_identity_and_its_bounds(topic):
    fill(topic, *numbers(0, 10))
    topic.delete_rows(0, before=4)
    facts = topic_facts(topic.endpoints, topic.name)
    assert facts.bounds == {0: (4, 10)}
    assert facts.cluster == AdminClient(client_config(topic.endpoints)).list_topics().cluster_id
    assert facts.identity


def test_brokers_that_do_not_answer_are_an_error():
    nobody = Endpoints(kafka="localhost:1", registry="")
    with pytest.raises(SourceError, match="cannot be reached within 1 s"):
        read(Topic(nobody, name="t"), 0, 1, timeout_s=1.0)
    with pytest.raises(SourceError, match="cannot be reached within 1 s"):
        topic_facts(nobody, "t", timeout_s=1.0)


def told(offset):
    return json.dumps({"topics": {"t": {"partitions": {"3": {"next_offset": offset}}}}})


def test_what_is_fetched_counts_though_no_record_comes():
    fetched = _Fetched("t", 3)
    assert not fetched.has_moved()
    for report, has_moved in (
        (json.dumps({"topics": {}}), False),
        (told(-1001), False),
        (told(5), True),
        (told(5), False),
        (told(9), True),
    ):
        fetched(report)
        assert fetched.has_moved() == has_moved
