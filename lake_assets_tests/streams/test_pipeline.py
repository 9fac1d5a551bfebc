import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.model.reports import Stage
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.pipeline import Pipeline, demux_of, follower_of, start_ingest
from lake_assets.streams.schemas import Schemas
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture
def topic(services):
    return Topic(services)


@pytest.fixture
def reports():
    return []


@pytest.fixture
def pipeline(spark, services, settings, reports):
    with open_lake(settings) as context:
        yield Pipeline(
            session=spark,
            endpoints=services,
            context=context,
            stream=settings.stream,
            state_dir=settings.state_dir,
            report=reports.append,
        )


@pytest.fixture
def travel(pipeline, topic):
    """Takes all there is from the topic to silver."""

    def go():
        feed = topic.feed()
        start_ingest(pipeline, feed, until_caught_up=True).awaitTermination()
        registry = Registry(pipeline.endpoints.registry, PROTOBUF)
        schemas = Schemas(
            feed=feed,
            format=ProtobufFormat(feed.payload.protobuf, registry),
            stop=threading.Event(),
            announce=lambda _: None,
        )
        follower_of(pipeline, demux_of(pipeline, feed, schemas)).drain()

    return go


def opened(settings, table):
    return DeltaTable(settings.lake_dir / table.relative)


def offsets(settings, table, prefix=""):
    rows = opened(settings, table).to_pyarrow_table()
    return sorted(
        zip(
            rows[f"{prefix}partition"].to_pylist(),
            rows[f"{prefix}offset"].to_pylist(),
            strict=True,
        )
    )


def test_rows_travel_from_the_topic_to_their_tables(travel, topic, settings):
    known = topic.register(0)
    places = topic.produce(framed(known, "uno"), framed(known, "go_fish"), b"bad")
    travel()
    assert offsets(settings, bronze_of("games")) == sorted(places)
    assert offsets(settings, silver_of("uno"), "_") == places[:1]
    assert offsets(settings, silver_of("go_fish"), "_") == places[1:2]
    assert offsets(settings, quarantine_of("games")) == places[2:]


def test_streams_go_on_where_they_were(travel, topic, settings):
    known = topic.register(0)
    first = topic.produce(framed(known))
    travel()
    second = topic.produce(framed(known), framed(known))
    travel()
    assert offsets(settings, silver_of("uno"), "_") == sorted(first + second)


def test_what_was_erased_from_bronze_before_demux_began_stays_erased(
    travel, topic, pipeline, settings
):
    places = topic.produce(*[framed(topic.register(0))] * 3)
    start_ingest(pipeline, topic.feed(), until_caught_up=True).awaitTermination()
    partition, offset = places[0]
    erased = f"partition = {partition} and offset = {offset}"
    pipeline.context.committer.delete(bronze_of("games"), erased)
    travel()
    assert offsets(settings, silver_of("uno"), "_") == sorted(places[1:])


def test_rows_that_are_rewritten_before_demux_comes_to_them_are_taken_once(
    travel, topic, pipeline, settings
):
    known = topic.register(0)
    first = topic.produce(*[framed(known)] * 3)
    travel()
    second = topic.produce(*[framed(known)] * 3)
    start_ingest(pipeline, topic.feed(), until_caught_up=True).awaitTermination()
    pipeline.context.committer.compact(bronze_of("games"))
    partition, offset = second[0]
    pipeline.context.committer.delete(
        bronze_of("games"), f"partition = {partition} and offset = {offset}"
    )
    pipeline.context.committer.vacuum(bronze_of("games"))
    travel()
    assert offsets(settings, silver_of("uno"), "_") == sorted([*first, *second[1:]])


def test_each_batch_is_reported_once(travel, topic, reports):
    topic.produce(framed(topic.register(0)))
    travel()
    assert [(report.stage, report.batch_id) for report in reports] == [
        (Stage.INGEST, 2),  # the first commit recorded where the topic begins
        (Stage.DEMUX, 1),
    ]


def test_a_report_tells_what_its_batch_took(travel, topic, reports):
    ((partition, offset),) = topic.produce(framed(topic.register(0)))
    travel()
    ingest, demux = (report.span for report in reports)
    assert ingest.offsets_from == topic.at({0: 0, 1: 0})
    assert ingest.offsets_to == topic.at({0: 0, 1: 0} | {partition: offset + 1})
    assert (demux.version_from, demux.version_to) == (0, 3)
    assert [report.files for report in reports] == [1, 1]
    travel()
    topic.produce(framed(topic.register(0)))
    travel()
    assert [report.span.query for report in reports[2:]] == [ingest.query, demux.query]
    assert reports[2].span.offsets_from == ingest.offsets_to


def test_a_small_batch_leaves_one_file_a_table_however_many_partitions(travel, topic, reports):
    known = topic.register(0)
    topic.produce(framed(known))
    travel()
    places = topic.produce(*[framed(known)] * 20)
    travel()
    ingest, demux = reports[2:]
    assert {partition for partition, _ in places} == {0, 1}
    assert (ingest.files, demux.files) == (2, 1)


def test_a_burst_comes_in_bounded_batches(pipeline, topic, reports, settings):
    places = topic.produce(*[b"bad"] * 25)
    narrow = replace(pipeline, stream=pipeline.stream.model_copy(update={"max_rows_per_batch": 10}))
    start_ingest(narrow, topic.feed(), until_caught_up=True).awaitTermination()
    taken = [sum(report.rows.values()) for report in reports]
    assert sum(taken) == 25
    assert max(taken) <= 10
    assert offsets(settings, bronze_of("games")) == sorted(places)


def test_a_feed_with_a_trigger_waits_that_long_between_batches(pipeline, topic, reports):
    topic.produce(b"bad")
    slow = topic.feed(trigger=timedelta(hours=1))
    query = start_ingest(pipeline, slow, until_caught_up=False)
    try:
        wait_for(lambda: reports)  # the first batch comes at once
        topic.produce(b"bad")
        time.sleep(3)  # three of the default's intervals: nothing tells that no batch comes
        assert len(reports) == 1
    finally:
        query.stop()


def wait_for(is_so, seconds=60):
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.1)
