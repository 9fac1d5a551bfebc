from uuid import uuid4

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from lake_assets.errors import SourceError, SourceNotFoundError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.sources import KafkaSource
from lake_assets.sources.kafka.found_topics import extent_of
from lake_assets.sources.kafka.source import KafkaTopic
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.events import Topic
from lake_assets_tests.services.secured import STRANGER, Listener
from lake_assets_tests.sources.kafka.test_refusals import by

pytestmark = pytest.mark.kafka


@pytest.fixture
def prefix():
    return f"many-{uuid4().hex[:8]}"


def make(endpoints, *names, partitions=1):
    for name in names:
        Topic(endpoints, name).create(partitions)


def fill(endpoints, name, rows):
    producer = Producer(client_config(endpoints))
    for _ in range(rows):
        producer.produce(name, b"x", partition=0)
    assert producer.flush(30) == 0


def test_a_pattern_finds_whole_names_and_all_their_partitions(services, prefix):
    make(services, f"{prefix}-a", f"{prefix}-b", partitions=2)
    make(services, f"x{prefix}-a", f"{prefix}")
    fill(services, f"{prefix}-b", 3)
    found = extent_of(services, KafkaSource(topics=f"{prefix}-.*"))
    assert found.names == (f"{prefix}-a", f"{prefix}-b")
    assert found.ends == {
        (f"{prefix}-{n}", p): 3 * (n == "b" and p == 0) for n in "ab" for p in (0, 1)
    }
    assert set(found.begins.values()) == {0}


def test_topics_that_kafka_has_for_itself_are_never_found(services, prefix):
    make(services, f"{prefix}-a")
    place = TopicPartition(f"{prefix}-a", 0, 0)
    admin = AdminClient(client_config(services))  # who commits makes `__consumer_offsets`
    (done,) = admin.alter_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(prefix, [place])]
    ).values()
    done.result()
    assert "__consumer_offsets" in admin.list_topics(timeout=10).topics
    found = extent_of(services, KafkaSource(topics=f"__consumer_.*|{prefix}.*"))
    assert found.names == (f"{prefix}-a",)


def test_a_pattern_that_finds_nothing_is_told(services, prefix):
    with pytest.raises(SourceNotFoundError, match=f"topics that match '{prefix}.*': do not exist"):
        extent_of(services, KafkaSource(topics=f"{prefix}.*"))


def test_one_of_several_that_is_not_there_is_told_by_its_name_unless_others_go_on(services, prefix):
    make(services, f"{prefix}-a")
    names = [f"{prefix}-a", f"{prefix}-b"]
    with pytest.raises(SourceNotFoundError, match=f"topic '{prefix}-b': does not exist"):
        extent_of(services, KafkaSource(topics=names))
    assert extent_of(services, KafkaSource(topics=names, on_gap="record")).names == tuple(names[:1])
    with pytest.raises(SourceNotFoundError, match=f"topic '{prefix}-c': does not exist"):
        extent_of(services, KafkaSource(topics=[f"{prefix}-c"], on_gap="record"))
    assert f"{prefix}-b" not in AdminClient(client_config(services)).list_topics(timeout=10).topics


@pytest.mark.slow
def test_two_hundred_topics_are_asked_for_in_a_handful_of_questions(services, prefix, monkeypatch):
    asked = []

    class Counting(AdminClient):
        def describe_topics(self, *arguments, **options):
            asked.append("describe")
            return super().describe_topics(*arguments, **options)

        def list_offsets(self, *arguments, **options):
            asked.append("offsets")
            return super().list_offsets(*arguments, **options)

    monkeypatch.setattr("lake_assets.sources.kafka.found_topics.AdminClient", Counting)
    monkeypatch.setattr("lake_assets.sources.kafka.generation.AdminClient", Counting)
    names = [f"{prefix}-{number}" for number in range(200)]
    make(services, *names)
    source = KafkaTopic(KafkaSource(topics=f"{prefix}-.*"), services)
    source.extent()  # each has its leader then
    asked.clear()
    assert len(source.extent().ends) == 200
    assert asked == ["describe", "offsets", "offsets"]
    asked.clear()
    told = source.generation(names)
    assert asked == ["describe", "offsets"]
    assert len(told.epochs) == len({*told.identities.values()}) == 200
    admin = AdminClient(client_config(services))
    for answer in admin.delete_topics(names).values():
        answer.result()


def test_of_topics_that_we_may_not_read_a_named_one_is_told_and_a_pattern_finds_none(
    secured, prefix
):
    make(Endpoints(kafka=secured.plain, registry=""), f"{prefix}-a")
    stranger = by(secured, Listener.SCRAM, user=STRANGER)
    with pytest.raises(SourceError, match=f"topic '{prefix}-a' at .*: is refused"):
        extent_of(stranger, KafkaSource(topics=[f"{prefix}-a"], on_gap="record"))
    with pytest.raises(SourceNotFoundError, match="or may not be described"):
        extent_of(stranger, KafkaSource(topics=f"{prefix}-.*"))


def test_a_broker_that_is_away_is_told():
    away = Endpoints(kafka="127.0.0.1:1", registry="")
    for topics in ("a.*", ["a", "b"]):
        with pytest.raises(SourceError, match="cannot be reached"):
            extent_of(away, KafkaSource(topics=topics), timeout_s=2)
