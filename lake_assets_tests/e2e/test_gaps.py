"""What Kafka does to a topic while a feed reads it, and while it does not: rows gone, others'."""

import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from deltalake import DeltaTable

from lake_assets.errors import PoisonedBatchError
from lake_assets.logs.gaps import recorded_gaps
from lake_assets.model.tables import GAPS, bronze_of, quarantine_of
from lake_assets.sources.kafka.topics import client_config
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.pipeline import Pipeline
from lake_assets.streams.skip_request import ask_to_skip
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sources.kafka.damage import damage

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]


class FedLake:
    """A lake that one feed's streams run into, in the test's Spark."""

    def __init__(self, spark, settings, topic):
        self.spark, self.settings, self.topic = spark, settings, topic
        self.known = topic.register(0)
        self.admin = AdminClient(client_config(topic.endpoints))
        self.told = []

    def feed(self, **source):
        return self.topic.feed(source=self.topic.source(**source))

    def streams(self, context, feed, *, until_caught_up):
        pipeline = Pipeline(
            session=self.spark,
            endpoints=self.topic.endpoints,
            context=context,
            stream=self.settings.stream,
            state_dir=self.settings.state_dir,
            report=lambda _: None,
        )
        found = FeedStreams(
            pipeline=pipeline,
            settings=self.settings,
            feed=feed,
            until_caught_up=until_caught_up,
            announce=self.told.append,
            stop=threading.Event(),
            goes_on=lambda: False,
        )

        def note(_, problem):
            found.query_failure = problem

        found.pipeline = replace(pipeline, failed=note)
        return found

    def catch_up(self, feed=None):
        """The failure, if there is one."""
        with open_lake(self.settings, self.spark) as context:
            streams = self.streams(context, feed or self.feed(), until_caught_up=True)
            streams.run()
            return streams.failure

    @contextmanager
    def running(self, feed=None):
        with open_lake(self.settings, self.spark) as context:
            streams = self.streams(context, feed or self.feed(), until_caught_up=False)
            thread = threading.Thread(target=streams.run)
            thread.start()
            try:
                yield streams
            finally:
                streams.stop.set()
                thread.join()

    def produce(self, count=1):
        return self.topic.produce(*[framed(self.known)] * count)

    def delete_rows(self, before):
        """As retention does: the rows of each partition below an offset."""
        places = [TopicPartition(self.topic.name, p, offset) for p, offset in before.items()]
        for answer in self.admin.delete_records(places).values():
            answer.result()

    def widen(self, partitions):
        (answer,) = self.admin.create_partitions(
            [NewPartitions(self.topic.name, partitions)]
        ).values()
        answer.result()

    def places(self, table, prefix=""):
        folder = self.settings.lake_dir / table.relative
        if not (folder / "_delta_log").exists():
            return Counter()
        rows = DeltaTable(folder).to_pyarrow_table()
        columns = (rows[f"{prefix}partition"], rows[f"{prefix}offset"])
        return Counter(zip(*(column.to_pylist() for column in columns), strict=True))

    @property
    def bronze(self):
        return self.places(bronze_of("games"))

    @property
    def silver(self):
        return self.places(self.feed().silver_table("uno"), "_")

    @property
    def gaps(self):
        """How often each row is in a gap."""
        gaps = [recorded.gap for recorded in recorded_gaps(lake_of(self.settings), "games")]
        return Counter(
            (gap.partition, offset)
            for gap in gaps
            for offset in range(gap.offset_from, gap.offset_to)
        )


@pytest.fixture
def lake(spark, services, settings):
    return FedLake(spark, settings, Topic(services))


def test_rows_deleted_while_nobody_read_are_gaps_exactly_and_the_others_come(lake):
    made = Counter(lake.produce(6))
    assert lake.catch_up() is None
    made.update(lake.produce(20))
    lake.delete_rows({p: offset - 2 for p, offset in ends(made).items()})
    assert "offsets before they were read" in str(lake.catch_up())
    assert lake.catch_up(lake.feed(on_gap="record")) is None
    assert lake.gaps
    assert lake.bronze + lake.gaps == made
    assert lake.silver == lake.bronze


def test_rows_deleted_under_the_stream_s_feet_are_gaps_and_it_goes_on(lake):
    made = Counter(lake.produce(2))
    with lake.running(lake.feed(on_gap="record")) as streams:
        wait_for(lambda: lake.silver == made, "the first rows", within_s=120)

        def has_lost_some():
            made.update(lake.produce(40))
            lake.delete_rows(ends(made))
            return lake.gaps

        wait_for(has_lost_some, "rows that nobody read", within_s=240)
        made.update(lake.produce(3))
        wait_for(lambda: lake.bronze + lake.gaps == made, "the last rows", within_s=120)
        wait_for(lambda: lake.silver == lake.bronze, "silver", within_s=120)
    assert streams.failure is None


def test_rows_deleted_under_the_stream_s_feet_stop_it_with_their_offsets(lake):
    made = Counter(lake.produce(2))
    with lake.running() as streams:
        wait_for(lambda: lake.silver == made, "the first rows", within_s=120)

        def has_failed():
            made.update(lake.produce(40))
            lake.delete_rows(ends(made))
            return streams.failure

        wait_for(has_failed, "the failure", within_s=240)
    assert "Kafka deleted" in str(streams.failure)
    assert "`on_gap: record`" in str(streams.failure)
    assert lake.silver == lake.bronze


def test_a_partition_that_is_added_loses_nothing_whether_streams_run_or_not(lake):
    made = Counter(lake.produce(4))
    with lake.running() as streams:
        wait_for(lambda: lake.silver == made, "the first rows", within_s=120)
        lake.widen(4)
        made.update(lake.produce(40))
        wait_for(lambda: lake.silver == made, "rows of new partitions", within_s=120)
    assert streams.failure is None
    lake.widen(6)
    made.update(lake.produce(60))
    assert {p for p, _ in made} == set(range(6))
    assert lake.catch_up() is None
    assert lake.silver == made


def test_a_topic_that_is_created_again_under_the_stream_is_never_taken_for_the_first(lake):
    made = Counter(lake.produce(2))
    with lake.running(lake.feed(on_gap="record")) as streams:
        wait_for(lambda: lake.silver == made, "the first rows", within_s=120)
        lake.topic.delete()
        # More rows than the first had: the offsets that come next are there at once.
        lake.produce(50)
        wait_for(lambda: streams.failure, "the failure", within_s=240)
    assert "again, of which bronze may have another row" in str(streams.failure)
    assert lake.bronze == lake.silver == made


def test_a_topic_that_is_gone_is_waited_for(lake):
    made = Counter(lake.produce(2))
    with lake.running() as streams:
        wait_for(lambda: lake.silver == made, "the first rows", within_s=120)
        lake.topic.delete()
        wait_for(lambda: streams.waiting, "waiting for the topic", within_s=240)
        assert f"topic '{lake.topic.name}': does not exist" in streams.waiting.reason
    assert streams.failure is None


def test_what_transactions_leave_between_rows_is_no_gap(lake):
    lake.topic.create()
    own = {"transactional.id": lake.topic.name}
    producer = Producer({**client_config(lake.topic.endpoints), **own})
    producer.init_transactions(30)
    for is_kept in (True, False, True):
        producer.begin_transaction()
        producer.produce(lake.topic.name, framed(lake.known))
        assert producer.flush(30) == 0
        (producer.commit_transaction if is_kept else producer.abort_transaction)(30)
        assert lake.catch_up(lake.feed(on_gap="record")) is None
    assert lake.silver == Counter([(0, 0), (0, 4)])
    assert not (lake.settings.lake_dir / GAPS.relative).exists()


def test_a_row_of_a_time_beyond_the_calendar_comes_like_any_other(lake):
    """Brokers before 4.0 take a producer's microseconds for milliseconds; others if told so."""
    lake.topic.create(**{"message.timestamp.after.max.ms": str(2**63 - 1)})
    producer = Producer(client_config(lake.topic.endpoints))
    for micros in (1_700_000_000_000_000, 0):
        producer.produce(lake.topic.name, framed(lake.known), timestamp=micros)
    producer.produce(lake.topic.name, b"for quarantine", timestamp=1_700_000_000_000_000)
    assert producer.flush(30) == 0
    for _ in range(2):  # the second looks whether the last row is still the same
        assert lake.catch_up() is None
    assert lake.silver == Counter([(0, 0), (0, 1)])
    assert lake.places(quarantine_of("games")) == Counter([(0, 2)])


@pytest.mark.long
def test_a_damaged_record_batch_stops_the_feed_with_its_cause_and_is_skipped_exactly(
    lake, pytestconfig
):
    lake.topic.create()
    producer = Producer({**client_config(lake.topic.endpoints), "linger.ms": 200})
    for values in ([framed(lake.known)], [b"DAMAGED", framed(lake.known)], [framed(lake.known)]):
        for value in values:
            producer.produce(lake.topic.name, value)
        assert producer.flush(30) == 0
    damage(pytestconfig, lake.topic.name, b"DAMAGED")
    failures = [lake.catch_up() for _ in range(3)]
    assert isinstance(failures[-1], PoisonedBatchError)
    assert "Record is corrupt" in str(failures[0])
    assert "Record is corrupt" in str(failures[-1])
    ask_to_skip(lake.settings.state_dir, lake.feed())
    assert lake.catch_up() is None
    assert lake.bronze == lake.silver == Counter([(0, 0), (0, 3)])
    assert lake.gaps == Counter([(0, 1), (0, 2)])


def ends(places):
    """By partition, the offset after the last."""
    found = {}
    for partition, offset in places:
        found[partition] = max(offset + 1, found.get(partition, 0))
    return found
