"""Tables that another engine's RESTORE puts back, at the moments where that would be overlooked."""

import threading
from collections import Counter
from contextlib import contextmanager, suppress

import pytest
from deltalake import DeltaTable

from lake_assets.delta.committer import Committer
from lake_assets.errors import LakeError, RegistryError, StreamError
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.protobuf.language import PROTOBUF
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.model.tables import bronze_of, quarantine_of, waiting_of
from lake_assets.streams.noted_changes import finish_change
from lake_assets.streams.pipeline import catch_up_of, demux_of, follower_of, start_ingest
from lake_assets.streams.schemas import Schemas
from lake_assets_tests.events import framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

BRONZE, QUARANTINE, WAITING = bronze_of("games"), quarantine_of("games"), waiting_of("games")
UNO = silver_of("uno")


class SparseRegistry:
    """A registry that cannot always be reached."""

    def __init__(self, url):
        self.registry, self.is_away = Registry(url, PROTOBUF), False

    def __getattr__(self, name):
        if self.is_away and name != "language":
            raise RegistryError("schema registry", "cannot be reached", "Start it.")
        return getattr(self.registry, name)


@pytest.fixture
def restore(lake):
    def to(table, version):
        DeltaTable(lake.folder(table)).restore(version)

    return to


@pytest.fixture
def with_waiting(lake, produce, services, monkeypatch):
    """Living streams, with a row that waits for a registry that is away."""
    monkeypatch.setattr("lake_assets.streams.waiting_rows._PATIENCE_S", 60.0)

    @contextmanager
    def go():
        registry = SparseRegistry(services.registry)
        rows = produce(2)
        lake.stream()
        with lake.pipeline() as pipeline:
            schemas = Schemas(
                feed=lake.feed,
                format=ProtobufFormat(
                    lake.feed.payload.protobuf,
                    CachedRegistry(registry, SchemaCache(lake.settings.state_dir / "schemas")),
                ),
                stop=threading.Event(),
                announce=lambda _: None,
            )
            demux = demux_of(pipeline, lake.feed, schemas)
            catch_up = catch_up_of(pipeline, demux, schemas)
            catch_up.pause_s = 0.0
            follower = follower_of(pipeline, demux)
            rows += produce(2)
            lake.ingest()
            follower.drain()  # what is known by now is cached
            late = lake.topic.register(1)
            rows += Counter(lake.topic.produce(framed(late, version=1)))
            registry.is_away = True
            lake.ingest()
            follower.drain()
            registry.is_away = False
            yield rows, catch_up

    return go


@pytest.mark.parametrize("table", [UNO, QUARANTINE], ids=str)
def test_a_table_that_got_no_row_since_the_start_is_watched_too(lake, produce, restore, table):
    rows = produce(4, bad=1)
    lake.stream()
    before = lake.version(table)
    rows += produce(4, bad=1)
    lake.stream()
    with lake.following() as living:
        living.drain()
        restore(table, before)
        rows += produce(4, bad=1)
        lake.ingest()
        with pytest.raises(LakeError, match="was put back to an older version"):
            living.drain()
    with pytest.raises(StreamError, match=r"\(RESTORE\)"):
        lake.stream()
    lake.rebuild()
    lake.stream()
    assert lake.silver + lake.quarantine == rows


def test_bronze_that_got_no_row_since_the_start_is_watched_too(lake, produce, restore):
    rows = produce(4)
    lake.stream()
    before = lake.version(BRONZE)
    rows += produce(4)
    lake.ingest()
    with lake.pipeline() as pipeline:
        query = start_ingest(pipeline, lake.feed, until_caught_up=False)
        query.processAllAvailable()
        restore(BRONZE, before)
        rows += produce(4)
        with suppress(Exception):  # in Spark's words
            query.processAllAvailable()
        query.stop()
    lake.stream()
    assert (lake.bronze, lake.silver) == (rows, rows)


def test_rows_that_are_read_again_come_to_silver_if_demux_had_them_not(lake, produce, restore):
    rows = produce(4)
    lake.stream()
    with lake.following() as living:
        living.drain()
        rows += produce(4)
        lake.ingest()
        before = lake.version(BRONZE)
        rows += produce(4)
        lake.ingest()
        restore(BRONZE, before)
        living.drain()  # before ingest has looked
    lake.stream()
    assert (lake.bronze, lake.silver) == (rows, rows)


def test_waiting_rows_that_are_restored_are_not_taken_twice(lake, with_waiting, restore):
    with with_waiting() as (rows, catch_up):
        had = lake.version(WAITING)
        assert catch_up.tick() is not None
        restore(WAITING, had)
        with pytest.raises(StreamError, match=r"\(RESTORE\)"):
            catch_up.tick()
    lake.rebuild()
    lake.stream()
    assert lake.silver == rows


@pytest.mark.parametrize("table", [WAITING, UNO], ids=str)
def test_a_table_that_is_empty_then_and_now_is_healed(lake, with_waiting, produce, restore, table):
    if table == WAITING:
        with with_waiting() as (rows, _):
            pass
    else:
        rows = produce(4, keys=("go_fish",))
        lake.stream()
        DeltaTable(lake.folder(UNO)).alter.set_table_properties({"delta.checkpointInterval": "20"})
    restore(table, 0)
    with pytest.raises(StreamError, match=r"\(RESTORE\)"):
        lake.stream()
    lake.rebuild()
    lake.stream()
    assert lake.silver == rows


@pytest.mark.parametrize("starts", ["earliest", "latest"])
def test_bronze_put_back_to_before_its_first_row_is_read_from_where_it_began(
    lake, produce, restore, starts
):
    before = produce(2)
    feed = lake.topic.feed(source=lake.topic.source(starting_offsets=starts))
    lake.stream(feed)
    rows = produce(4) + (Counter() if starts == "latest" else before)
    lake.stream(feed)
    restore(BRONZE, 0)
    with pytest.raises(StreamError, match="Let the streams run first"):
        lake.rebuild()
    lake.stream(feed)
    assert (lake.bronze, lake.silver) == (rows, rows)


def test_a_restore_in_the_middle_of_a_requeue_is_refused(lake, produce, restore):
    rows = produce(4, bad=1)
    lake.stream()
    before = lake.version(QUARANTINE)
    rows += produce(2, keys=("chess",))
    lake.stream()

    class Restoring(Committer):
        def judge(self, commits, batch):
            super().judge(commits, batch)
            if "redo" in batch.app_id and lake.version(QUARANTINE) == newest:
                restore(QUARANTINE, before)

    newest = lake.version(QUARANTINE)
    restoring = StreamedLake(lake.spark, lake.settings, lake.topic, kind=Restoring)
    with restoring.redo() as redo:
        finish_change(redo.journal, redo.demux.context, lake.feed)
        with pytest.raises(LakeError, match="was put back to an older version"):
            redo.requeue()
    with pytest.raises(LakeError, match=r"\(RESTORE\)"):
        lake.stream()  # which finishes what was cut off
    lake.rebuild()
    lake.stream()
    assert lake.silver + lake.quarantine == rows


def test_a_topic_made_anew_is_refused_though_bronze_was_emptied(lake, produce):
    produce(6)
    lake.stream()
    DeltaTable(lake.folder(BRONZE)).delete()
    lake.topic.delete()
    produce(4)
    with pytest.raises(StreamError, match="created again"):
        lake.stream()
