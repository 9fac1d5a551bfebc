"""A batch that fails again and again, from the first failure to what becomes of its rows."""

import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
from deltalake import DeltaTable

from lake_assets.errors import PoisonedBatchError, StreamError
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.origins import Origin
from lake_assets.model.tables import GAPS, bronze_of, quarantine_of
from lake_assets.sources.catalog import SOURCES
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.skip_request import ask_to_retry, ask_to_skip
from lake_assets.streams.trace import trace
from lake_assets.streams.whereabouts import Whereabouts
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.e2e.test_another_source import MemoryLake, once
from lake_assets_tests.sources.memory import (
    NOWHERE,
    QUEUES,
    MemoryQueue,
    MemorySource,
    Queue,
    memory_feed,
    serving,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RAISES = Expectation(
    name="poison",
    sql="if(bpm = 666, cast(raise_error('the row is poison') as boolean), true)",
    action=Action.WARN,
)


class PoisonedLake(MemoryLake):
    """A lake whose feed raises an error at a row of 666."""

    def send(self, *beats):
        self.queue.send(*({"model": "vita", "bpm": bpm} for bpm in beats))

    def stream(self, feed=None):
        """As the base has it, with ingest's errors told as the worker is told them.

        Again where a busy machine did not start the queue's reader in time: no failure of a batch.
        """
        while True:
            with self.streams(feed, until_caught_up=True) as streams:
                streams.run()
            if "failed to connect back" not in str(streams.failure):
                return streams.failure

    @contextmanager
    def streams(self, feed=None, *, until_caught_up, goes_on=True):
        with open_lake(self.settings, self.spark) as context:
            found = FeedStreams(
                pipeline=self.pipeline(context),
                settings=self.settings,
                feed=feed or self.feed,
                until_caught_up=until_caught_up,
                announce=lambda _: None,
                stop=threading.Event(),
                goes_on=lambda: goes_on,
            )

            def note(_, problem):
                found.query_failure = problem

            found.pipeline = replace(found.pipeline, failed=note)
            yield found

    @contextmanager
    def running(self):
        with self.streams(until_caught_up=False) as streams:
            thread = threading.Thread(target=streams.run)
            thread.start()
            try:
                yield streams
            finally:
                streams.stop.set()
                thread.join()

    @property
    def without_poison(self):
        return self.feed.model_copy(update={"expectations": ()})

    def skip(self):
        return [s.batch.words for s in ask_to_skip(self.settings.state_dir, self.feed)]


@pytest.fixture
def lake(spark, settings, monkeypatch):
    monkeypatch.setitem(SOURCES, MemoryQueue, MemorySource)
    with serving() as address:
        queue = QUEUES["beats"] = Queue()
        feed = memory_feed("beats", address, expectations=(RAISES,))
        yield PoisonedLake(spark=spark, settings=settings, feed=feed, queue=queue)


def poison(lake):
    """Three commits of bronze, the second of which has the row; tried until it counts as poison."""
    for beats in ((60, 61), (62, 666), (63,)):
        lake.send(*beats)
        with open_lake(lake.settings, lake.spark) as context:
            from lake_assets.streams.pipeline import start_ingest

            start_ingest(lake.pipeline(context), lake.feed, until_caught_up=True).awaitTermination()
    failures = [lake.stream() for _ in range(4)]
    assert isinstance(failures[-1], PoisonedBatchError)
    return failures


def test_the_same_batch_fails_three_times_and_the_feed_stops_with_range_and_cause(lake):
    *others, last = poison(lake)
    assert [type(failure) for failure in others].count(PoisonedBatchError) == 0
    assert "demux of feed 'pulse': failed 3 times at the same batch" in str(last)
    assert "of bronze_pulse): " in str(last)
    assert "the row is poison" in str(last)


@pytest.mark.long
def test_skipped_rows_are_in_quarantine_as_they_came_and_all_others_in_silver(lake):
    poison(lake)
    (words,) = lake.skip()
    assert lake.stream() is None
    assert lake.numbers() == once(range(5))
    refused = lake.rows(quarantine_of("pulse"), "number", "reason", "value")
    assert sorted(refused) == [
        (2, "skipped", b'{"model": "vita", "bpm": 62}'),
        (3, "skipped", b'{"model": "vita", "bpm": 666}'),
    ]
    assert words.endswith("of bronze_pulse")
    traced = trace(lake.settings, lake.feed, Origin("beats", 0, 3), NOWHERE)
    assert traced.whereabouts is Whereabouts.QUARANTINE
    assert "the row is poison" in traced.words
    lake.send(64)
    assert lake.stream() is None
    assert lake.numbers() == once(range(6))


@pytest.mark.long
def test_a_request_to_skip_concerns_its_batch_and_no_other(lake):
    poison(lake)
    lake.skip()
    assert lake.stream(lake.without_poison) is None
    lake.send(64)
    assert lake.stream() is None
    assert [
        row for row in lake.rows(quarantine_of("pulse"), "number", "reason") if row[0] > 3
    ] == []


def test_skipped_rows_are_requeued_when_they_are_asked_for_and_what_failed_is_repaired(lake):
    poison(lake)
    lake.skip()
    lake.stream()
    assert lake.redo(lambda redo: redo.requeue()).rows == {}
    lake.feed = lake.without_poison
    done = lake.redo(lambda redo: redo.requeue(with_skipped=True))
    assert sum(done.rows.values()) == 2
    assert lake.rows(quarantine_of("pulse"), "number") == []
    assert lake.numbers() == once(range(5))


@pytest.mark.long
def test_what_silver_refuses_is_demux_s_poison_and_not_ingest_s_as_well(lake):
    lake.feed = lake.without_poison
    lake.send(60)
    lake.stream()
    silver = DeltaTable(lake.settings.lake_dir / lake.feed.silver_table("vita").relative)
    silver.alter.add_constraint({"calm": "bpm < 200"})
    lake.send(200)
    assert isinstance([lake.stream() for _ in range(3)][-1], PoisonedBatchError)
    (words,) = lake.skip()
    assert words.endswith("of bronze_pulse")
    assert lake.stream() is None
    assert lake.rows(quarantine_of("pulse"), "number", "reason") == [(1, "skipped")]


@pytest.mark.long
def test_once_the_cause_is_repaired_a_start_goes_on_with_all_rows(lake):
    poison(lake)
    assert lake.stream(lake.without_poison) is None
    assert lake.numbers() == once(range(5))
    with pytest.raises(StreamError, match="no batch that failed last"):
        lake.skip()


def test_a_running_feed_stands_still_until_its_batch_is_skipped_and_then_goes_on(lake):
    lake.send(60)
    with lake.running() as streams:
        wait_for(lambda: lake.numbers() == once(range(1)), "the first row", within_s=120)
        lake.send(666)
        wait_for(lambda: streams.stopped, "the poison", within_s=120)
        assert "failed 3 times at the same batch" in streams.stopped
        assert streams.waiting is None
        lake.send(61)
        lake.skip()
        wait_for(lambda: lake.numbers() == once(range(3)), "the rest", within_s=120)
        wait_for(lambda: not streams.stopped and streams.failure is None, "health", within_s=120)
    assert lake.rows(quarantine_of("pulse"), "number", "reason") == [(1, "skipped")]


@pytest.mark.long
def test_a_running_feed_tries_again_when_it_is_asked_to(lake):
    lake.send(60, 666)
    with lake.running() as streams:
        wait_for(lambda: streams.stopped, "the poison", within_s=120)
        ask_to_retry(lake.settings.state_dir, lake.feed)
        wait_for(lambda: not streams.stopped, "the next try", within_s=120)
        wait_for(lambda: streams.stopped, "the poison again", within_s=120)


def refused_by_bronze(lake):
    """A batch of three rows, the second of which a constraint of bronze forbids; skipped."""
    lake.send(60)
    lake.stream()
    table = DeltaTable(lake.settings.lake_dir / bronze_of("pulse").relative)
    table.alter.add_constraint({"small": "number <> 2"})
    lake.send(61, 62, 63)
    failures = [lake.stream() for _ in range(3)]
    assert isinstance(failures[-1], PoisonedBatchError)
    assert (
        "ingest of feed 'pulse': failed 3 times at the same batch (offsets 1 to 3 of partition 0"
        in str(failures[-1])
    )
    assert lake.skip() == ["offsets 1 to 3 of partition 0"]
    lake.send(64)
    assert lake.stream() is None


GAP = ("source", "partition", "offset_from", "offset_to", "reason")


@pytest.mark.long
def test_of_a_batch_that_bronze_does_not_take_the_rows_go_where_they_can(lake):
    refused_by_bronze(lake)
    assert lake.numbers() == once(range(5))
    assert sorted(lake.rows(bronze_of("pulse"), "number")) == [(0,), (1,), (3,), (4,)]
    aside = lake.rows(quarantine_of("pulse"), "number", "reason", "value")
    assert aside == [(2, "skipped", b'{"model": "vita", "bpm": 62}')]
    assert lake.rows(GAPS, *GAP) == [("beats", 0, 2, 3, "refused")]
    traced = trace(lake.settings, lake.feed, Origin("beats", 0, 2), NOWHERE)
    assert traced.whereabouts is Whereabouts.QUARANTINE
    assert "bronze did not take it: " in traced.words


@pytest.mark.long
def test_rows_that_bronze_refused_outlive_a_rebuild_in_quarantine_and_in_silver(lake):
    refused_by_bronze(lake)
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert lake.rows(quarantine_of("pulse"), "number") == [(2,)]
    lake.feed = lake.without_poison
    lake.redo(lambda redo: redo.requeue(with_skipped=True))
    assert lake.numbers() == once(range(5))
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert lake.numbers() == once(range(5))
    assert lake.rows(quarantine_of("pulse"), "number") == []
