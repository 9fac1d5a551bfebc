import threading

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.errors import RegistryError
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.model.tables import quarantine_of, waiting_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.scan import Rows
from lake_assets.streams.pipeline import Pipeline, catch_up_of, demux_of
from lake_assets.streams.schemas import Schemas
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.silver.given import bronze_batch, no_position

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


class Line:
    """A real registry behind a line that can be cut."""

    def __init__(self, url):
        self.registry = Registry(url, PROTOBUF)
        self.is_cut = False

    def __getattr__(self, name):
        if self.is_cut and name != "language":
            raise RegistryError("schema registry", "cannot be reached", "Start it.")
        return getattr(self.registry, name)


@pytest.fixture
def said():
    return []


@pytest.fixture
def line(services):
    return Line(services.registry)


@pytest.fixture
def topic(services):
    return Topic(services)


@pytest.fixture
def world(spark, services, settings, line, topic, said):
    """A demux and what catches up with it, as a process that just started has them."""
    with open_lake(settings) as context:
        pipeline = Pipeline(
            session=spark,
            endpoints=services,
            context=context,
            stream=settings.stream,
            state_dir=settings.state_dir,
            report=lambda _: None,
        )

        def start():
            cache = SchemaCache(settings.state_dir / "schemas")
            schemas = Schemas(
                feed=topic.feed(),
                format=ProtobufFormat(topic.feed().payload.protobuf, CachedRegistry(line, cache)),
                stop=threading.Event(),
                announce=said.append,
            )
            demux = demux_of(pipeline, topic.feed(), schemas)
            return demux, catch_up_of(pipeline, demux, schemas)

        yield start


@pytest.fixture
def offsets(settings):
    def read(table):
        path = settings.lake_dir / table.relative
        rows = DeltaTable(path).to_pyarrow_table()
        return sorted(rows["_offset" if "silver" in table.name else "offset"].to_pylist())

    return read


def batch(spark, *values):
    return Rows(spark.createDataFrame(pa.Table.from_batches([bronze_batch(*values)])))


def test_known_ids_go_on_from_the_cache_while_new_ones_wait_and_are_caught_up(
    world, line, topic, spark, offsets, said
):
    known = topic.register(0)
    demux, catch_up = world()
    demux(batch(spark, framed(known)), Batch("query", 0), no_position)
    assert catch_up.tick() is None
    new = topic.register(1)
    line.is_cut = True
    # A restart in the middle of it: only the cache knows the schemas.
    demux, catch_up = world()
    catch_up.pause_s = 0.0
    rows = batch(spark, framed(known), framed(known), framed(new, version=1))
    demux(rows, Batch("query", 1), no_position)
    assert catch_up.tick() is None
    assert "1 so far" in said[-1].reason
    assert offsets(waiting_of("games")) == [2]
    assert offsets(silver_of("uno")) == [0, 0, 1]
    line.is_cut = False
    done = catch_up.tick()
    assert (dict(done.rows), said[-1]) == ({"silver_uno_events": 1}, None)
    assert (offsets(waiting_of("games")), offsets(quarantine_of("games"))) == ([], [])
    assert offsets(silver_of("uno")) == [0, 0, 1, 2]


def test_it_looks_only_every_so_often(world, line, topic, spark):
    known = topic.register(0)
    demux, catch_up = world()
    demux(batch(spark, framed(known)), Batch("query", 0), no_position)
    catch_up.tick()
    line.is_cut = True
    assert catch_up.tick() is None
