"""What a rebuild reads of bronze, in a lake whose bronze is written without a broker."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.bronze.ingest import Ingest
from lake_assets.bronze.offsets import TopicRange
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.clock import wall_clock
from lake_assets_tests.events import AT, Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key string, value binary>>"
)


@pytest.fixture
def lake(spark, services, settings):
    return StreamedLake(spark, settings, Topic(services))


@pytest.fixture
def land(lake):
    """Lands the next row of each of some partitions, as ingest that was just started does."""
    value, ends = framed(lake.topic.register(0)), Counter()

    def go(*partitions):
        topic, starts = lake.topic.name, dict(ends)
        rows = [(None, value, topic, number, ends[number], AT, None) for number in partitions]
        ends.update(partitions)
        begins = dict.fromkeys(ends, 0)
        with open_lake(lake.settings) as context:
            ingest = Ingest(feed="games", topic=topic, context=context, report=lambda _: None)
            ingest.prepare(TopicRange(topic=topic, begins=begins, ends=dict(ends)), "earliest")
            ingest(lake.spark.createDataFrame(rows, KAFKA), dict(ends))
        return Counter((number, starts.get(number, 0)) for number in partitions)

    return go


def test_a_rebuild_since_begins_with_the_first_late_row_whatever_the_clock_said_after(lake, land):
    early, late = timedelta(), timedelta(hours=3)
    with wall_clock() as clock:
        places = Counter()
        # Of each partition; the last of them has no late row.
        for clock.ahead, partitions in (
            (early, (0, 1, 2)),
            (late, (0,)),
            (early, (0, 1, 2)),
            (late, (0, 1)),
        ):
            places += land(*partitions)
    lake.demux()
    since = datetime.now(UTC) + timedelta(hours=1)
    lake.rebuild(since=since)
    assert lake.silver == places
    DeltaTable(lake.folder(silver_of("uno"))).delete()
    lake.rebuild(since=since)
    assert lake.silver == Counter([(0, 1), (0, 2), (0, 3), (1, 2)])


@pytest.mark.slow
def test_a_topic_may_have_a_thousand_partitions(lake, land):
    places = land(*range(1000)) + land(0, 999)
    lake.demux()
    DeltaTable(lake.folder(silver_of("uno"))).delete("_partition < 500")
    lake.rebuild()
    assert lake.silver == places
