import threading

import pytest
from deltalake import DeltaTable

from lake_assets.decode.registry import Registry
from lake_assets.errors import StreamError
from lake_assets.lake.means import lake_means
from lake_assets.model.reports import Hop
from lake_assets.model.tables import bronze_of, quarantine_of, silver_of
from lake_assets.streams.plan import Road, demux_of, start_demux, start_ingest
from lake_assets.streams.schemas import Schemas
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import GAMES

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture
def topic(services):
    return Topic(services)


@pytest.fixture
def reports():
    return []


@pytest.fixture
def road(spark, services, settings, reports):
    with lake_means(settings) as means:
        yield Road(
            session=spark,
            endpoints=services,
            means=means,
            stream=settings.stream,
            state_dir=settings.state_dir,
            report=reports.append,
        )


@pytest.fixture
def travel(road, topic):
    """Takes all there is from the topic to silver."""

    def go():
        feed = topic.feed()
        start_ingest(road, feed, until_caught_up=True).awaitTermination()
        registry = Registry(road.endpoints.registry)
        schemas = Schemas(
            feed=feed, registry=registry, stop=threading.Event(), announce=lambda _: None
        )
        demux = demux_of(road, feed, schemas)
        start_demux(road, demux, until_caught_up=True).awaitTermination()

    return go


def opened(settings, table):
    return DeltaTable(table.path(settings.lake_dir))


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


def test_commits_carry_the_querys_own_id(travel, topic, road, settings):
    topic.produce(framed(topic.register(0)))
    travel()
    metadata = (road.checkpoint(GAMES, Hop.INGEST) / "metadata").read_text()
    query_id = metadata.split('"')[3]
    assert opened(settings, bronze_of("games")).transaction_version(query_id) == 0


def test_a_lost_ingest_checkpoint_does_not_store_the_topic_twice(travel, topic, road, settings):
    places = topic.produce(framed(topic.register(0)))
    travel()
    checkpoint = road.checkpoint(GAMES, Hop.INGEST)
    checkpoint.rename(checkpoint.with_name("lost"))
    with pytest.raises(StreamError, match="would be stored twice"):
        travel()
    assert offsets(settings, bronze_of("games")) == places


def test_each_batch_is_reported_once(travel, topic, reports):
    topic.produce(framed(topic.register(0)))
    travel()
    assert [(report.hop, report.batch_id) for report in reports] == [
        (Hop.INGEST, 0),
        (Hop.DEMUX, 0),
    ]
