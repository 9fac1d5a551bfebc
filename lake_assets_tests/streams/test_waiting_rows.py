import threading
from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.errors import (
    ConstraintViolatedError,
    ExpectationFailedError,
    PoisonedBatchError,
    RegistryError,
)
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.reports import Stage
from lake_assets.model.tables import quarantine_of, waiting_of
from lake_assets.silver.reprocess import Redo
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.scan import Rows
from lake_assets.streams.batch_attempts import FeedAttempts, poisoned_batches
from lake_assets.streams.noted_changes import reprocess_journal
from lake_assets.streams.pipeline import Pipeline, catch_up_of, demux_of
from lake_assets.streams.schemas import Schemas
from lake_assets.streams.skip_request import ask_to_skip, request_file
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.silver.given import bronze_batch, no_position

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


class Line:
    """A real registry behind a line that can be cut."""

    def __init__(self, url):
        self.registry = Registry(url, PROTOBUF)
        self.is_cut = False
        self.lets_through = threading.Event()
        self.lets_through.set()
        self.asked = 0

    def check(self, subject):
        self.asked += 1
        assert self.lets_through.wait(60)
        self.__getattr__("check")(subject)

    def __getattr__(self, name):
        if self.is_cut and name != "language":
            raise RegistryError("schema registry", "cannot be reached", "Start it.")
        return getattr(self.registry, name)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A tick has the registry's answer, however slow the machine is."""
    monkeypatch.setattr("lake_assets.streams.waiting_rows._PATIENCE_S", 60.0)


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
    with open_lake(settings, spark) as context:
        pipeline = Pipeline(
            session=spark,
            endpoints=services,
            context=context,
            stream=settings.stream,
            state_dir=settings.state_dir,
            report=lambda _: None,
        )

        def start(**changes):
            feed, cache = topic.feed(**changes), SchemaCache(settings.state_dir / "schemas")
            attempts = FeedAttempts.of(settings.state_dir, feed)
            own = replace(pipeline, attempts=attempts)
            schemas = Schemas(
                feed=feed,
                format=ProtobufFormat(topic.feed().payload.protobuf, CachedRegistry(line, cache)),
                stop=threading.Event(),
                announce=said.append,
            )
            demux = demux_of(own, feed, schemas)
            return demux, catch_up_of(own, demux, schemas)

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


def test_a_registry_that_hangs_is_asked_once_and_holds_up_nobody(
    world, line, topic, spark, offsets, monkeypatch
):
    monkeypatch.setattr("lake_assets.streams.waiting_rows._PATIENCE_S", 0.5)
    known = topic.register(0)
    demux, catch_up = world()
    catch_up.pause_s = 0.0
    demux(batch(spark, framed(known)), Batch("query", 0), no_position)
    new = topic.register(1)
    line.is_cut = True
    demux(batch(spark, framed(known), framed(new, version=1)), Batch("query", 1), no_position)
    assert offsets(waiting_of("games")) == [1]
    line.lets_through.clear()
    before = line.asked
    assert [catch_up.tick() for _ in range(3)] == [None] * 3
    assert line.asked == before + 1
    # Batches go on meanwhile, and ask nothing.
    demux(batch(spark, framed(new, version=1)), Batch("query", 2), no_position)
    assert offsets(waiting_of("games")) == [0, 1]
    line.is_cut = False
    line.lets_through.set()
    wait_for(catch_up.tick, "the rows", within_s=120)
    assert offsets(waiting_of("games")) == []


def test_batches_ask_again_once_it_answers_though_no_row_waits(world, topic, spark, said):
    known = topic.register(0)
    demux, catch_up = world()
    demux(batch(spark, framed(known)), Batch("query", 0), no_position)
    catch_up.schemas.is_silent = True
    assert catch_up.tick() is None
    assert not catch_up.schemas.is_silent
    assert said[-1] is None


def test_who_ends_with_the_last_row_waits_for_the_answer(world, line):
    _, catch_up = world()
    catch_up.schemas.may_wait, catch_up.schemas.is_silent = False, True
    line.lets_through.clear()
    later = threading.Timer(1.5, line.lets_through.set)
    later.start()
    catch_up.tick()
    assert line.lets_through.is_set()
    later.join()


GAMER_FAILS = Expectation(name="no_eve", sql="gamer_id <> 'eve'", action=Action.FAIL)


@pytest.fixture
def waits(world, line, topic, spark):
    """Three rows of a new schema that wait, one of which violates what fails."""

    def make(**changes):
        known = topic.register(0)
        demux, catch_up = world(**changes)
        demux(batch(spark, framed(known)), Batch("query", 0), no_position)
        catch_up.tick()
        new = topic.register(1)
        line.is_cut = True
        demux, _ = world(**changes)
        gamers = ("ann", "eve", "bob")
        rows = (framed(new, gamer=gamer, version=1) for gamer in gamers)
        demux(batch(spark, *rows), Batch("query", 1), no_position)
        line.is_cut = False

    return make


@pytest.fixture
def refused(settings):
    def read():
        path = settings.lake_dir / quarantine_of("games").relative
        rows = DeltaTable(path).to_pyarrow_table().to_pylist()
        return sorted((r["offset"], r["reason"], r["detail"], bool(r["value"])) for r in rows)

    return read


def fails_three_times(world, error, **changes):
    """Each in a process that has just started."""
    for _ in range(2):
        _, catch_up = world(**changes)
        with pytest.raises(error):
            catch_up.tick()
    _, catch_up = world(**changes)
    with pytest.raises(PoisonedBatchError) as told:
        catch_up.tick()
    return str(told.value)


def test_a_waiting_row_that_violates_what_fails_is_skipped_on_demand_and_alone(
    world, waits, topic, settings, offsets, refused
):
    changes = {"expectations": (GAMER_FAILS,)}
    waits(**changes)
    text = fails_three_times(world, ExpectationFailedError, **changes)
    assert "catch-up of feed 'games': failed 3 times at the same batch (3 rows of bronze_g" in text
    assert "'no_eve'" in text
    assert poisoned_batches(settings.state_dir, topic.feed()) == [text]
    assert offsets(waiting_of("games")) == [0, 1, 2]
    ask_to_skip(settings.state_dir, topic.feed())
    demux, catch_up = world(**changes)
    catch_up.pause_s = 0.0
    catch_up.tick()
    assert offsets(waiting_of("games")) == []
    assert offsets(silver_of("uno")) == [0, 0, 2]
    assert refused() == [(1, "skipped", "no_eve", True)]
    assert poisoned_batches(settings.state_dir, topic.feed()) == []
    # It is left by a requeue that does not ask for it, and else would stop that.
    journal = reprocess_journal(demux.context.lake, demux.feed)
    session = catch_up.session
    assert Redo(session=session, demux=demux, journal=journal).requeue().rows == {}
    assert catch_up.tick() is None


def test_a_request_for_rows_that_left_since_is_void_and_the_log_says_so(
    world, waits, topic, settings, caplog
):
    changes = {"expectations": (GAMER_FAILS,)}
    waits(**changes)
    fails_three_times(world, ExpectationFailedError, **changes)
    ask_to_skip(settings.state_dir, topic.feed())
    demux, catch_up = world()  # the feed is repaired, and a requeue takes them first
    journal = reprocess_journal(demux.context.lake, demux.feed)
    Redo(session=catch_up.session, demux=demux, journal=journal).catch_up()
    assert catch_up.tick() is None
    assert "catch-up of feed 'games' skips nothing" in caplog.text
    assert not request_file(settings.state_dir, topic.feed(), Stage.CATCH_UP).exists()


def test_waiting_rows_that_fail_by_something_else_are_skipped_as_they_came(
    world, waits, topic, settings, offsets, refused
):
    waits()
    silver = DeltaTable(settings.lake_dir / silver_of("uno").relative)
    silver.alter.add_constraint({"nobody": "gamer_id <> 'eve'"})
    text = fails_three_times(world, ConstraintViolatedError)
    assert "nobody" in text
    ask_to_skip(settings.state_dir, topic.feed())
    _, catch_up = world()
    catch_up.tick()
    assert offsets(waiting_of("games")) == []
    assert [(n, reason, there) for n, reason, _, there in refused()] == [
        (n, "skipped", True) for n in range(3)
    ]
    assert "nobody" in refused()[0][2]
