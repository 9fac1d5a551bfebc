"""The whole way with a source that is not Kafka: no broker, no registry, other columns."""

from collections import Counter
from dataclasses import dataclass

import pytest
from deltalake import DeltaTable

from lake_assets.model.origins import Origin
from lake_assets.model.reports import Stage
from lake_assets.model.tables import GAPS, bronze_of, quarantine_of
from lake_assets.sources.catalog import SOURCES
from lake_assets.storage.local import LocalStore
from lake_assets.streams.lag import Lags
from lake_assets.streams.overview import overview
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.trace import trace
from lake_assets.streams.whereabouts import Whereabouts
from lake_assets_tests.sources.memory import (
    NOWHERE,
    QUEUES,
    MemoryQueue,
    MemorySource,
    Queue,
    memory_feed,
    serving,
)
from lake_assets_tests.streamed_lake import StreamedLake

pytestmark = pytest.mark.spark


@dataclass(kw_only=True)
class MemoryLake(StreamedLake):
    """A feed's lake whose rows are in this process's memory."""

    queue: Queue

    def numbers(self):
        """How often each row of the queue is in silver or quarantine."""
        found = Counter()
        for key in self.feed.keys:
            found.update(n for (n,) in self.rows(self.feed.silver_table(key), "_number"))
        found.update(n for (n,) in self.rows(quarantine_of("pulse"), "number"))
        return found


def once(numbers):
    return Counter(dict.fromkeys(numbers, 1))


@pytest.fixture
def lake(spark, settings, monkeypatch):
    monkeypatch.setitem(SOURCES, MemoryQueue, MemorySource)
    with serving() as address:
        queue = QUEUES["beats"] = Queue()
        queue.send({"model": "vita", "bpm": 60}, {"model": "tempo", "bpm": 70}, b"no json")
        yield MemoryLake(
            spark=spark, settings=settings, feed=memory_feed("beats", address), queue=queue
        )


def test_rows_come_to_bronze_silver_and_quarantine_under_the_source_s_own_words(lake):
    assert lake.stream() is None
    bronze = lake.rows(bronze_of("pulse"), "value", "queue", "number", "schema_id")
    assert min(bronze, key=lambda row: row[2]) == (
        b'{"model": "vita", "bpm": 60}',
        "beats",
        0,
        None,
    )
    vita = lake.rows(lake.feed.silver_table("vita"), "bpm", "_queue", "_number")
    assert vita == [(60, "beats", 0)]
    assert lake.rows(quarantine_of("pulse"), "value", "queue", "number", "reason") == [
        (b"no json", "beats", 2, "undecodable")
    ]
    columns = (
        DeltaTable(lake.settings.lake_dir / bronze_of("pulse").relative).schema().to_arrow().names
    )
    assert not {"topic", "partition", "offset", "kafka_timestamp", "key", "headers"} & {*columns}


def test_a_restart_goes_on_where_bronze_is(lake):
    lake.stream()
    lake.queue.send({"model": "vita", "bpm": 61}, {"model": "none", "bpm": 1})
    assert lake.stream() is None
    assert lake.numbers() == once(range(5))


def test_bronze_that_was_put_back_reads_its_rows_again_and_silver_has_them_once(lake):
    lake.stream()
    handle = DeltaTable(lake.settings.lake_dir / bronze_of("pulse").relative)
    before = handle.version()
    lake.queue.send({"model": "vita", "bpm": 61}, {"model": "tempo", "bpm": 62})
    lake.stream()
    DeltaTable(lake.settings.lake_dir / bronze_of("pulse").relative).restore(before)
    lake.queue.send({"model": "vita", "bpm": 63})
    assert lake.stream() is None
    numbers = sorted(n for (n,) in lake.rows(bronze_of("pulse"), "number"))
    assert numbers == [0, 1, 2, 3, 4, 5]
    assert lake.numbers() == once(range(6))


def test_rows_that_the_source_lost_before_they_were_read_stop_the_feed(lake):
    lake.stream()
    lake.queue.send({"model": "vita", "bpm": 61}, {"model": "vita", "bpm": 62})
    lake.queue.lose(4)
    told = "partition 0 of queue 'beats': begins at offset 4, and bronze needs offset 3 next"
    assert told in str(lake.stream())


def recording(lake):
    memory = lake.feed.source.memory.model_copy(update={"on_gap": "record"})
    source = lake.feed.source.model_copy(update={"memory": memory})
    return lake.feed.model_copy(update={"source": source})


def test_rows_that_the_source_lost_are_recorded_and_the_rest_comes(lake):
    lake.stream()
    lake.queue.send({"model": "vita", "bpm": 61}, {"model": "vita", "bpm": 62})
    lake.queue.lose(4)
    assert lake.stream(recording(lake)) is None
    assert lake.numbers() == once([0, 1, 2, 4])
    columns = ("feed", "source", "partition", "offset_from", "offset_to", "reason")
    assert lake.rows(GAPS, *columns) == [("pulse", "beats", 0, 3, 4, "deleted")]
    traced = trace(lake.settings, lake.feed, Origin("beats", 0, 3), NOWHERE)
    assert traced.whereabouts is Whereabouts.GAP
    assert "memory deleted it before it was read (offsets 3 to 3 of partition 0" in traced.words


class Gone(Queue):
    """A queue that answers nobody any more once a task has asked for rows."""

    def between(self, start: int, end: int) -> list[bytes]:
        QUEUES["beats"] = None  # type: ignore[assignment]
        raise OSError(f"rows {start} to {end} are gone with it")


@pytest.mark.long
def test_a_source_that_goes_in_the_midst_of_a_batch_is_what_is_told(lake):
    lake.stream()
    QUEUES["beats"] = gone = Gone(values=lake.queue.values)
    gone.send({"model": "vita", "bpm": 61})
    assert "queue 'beats': does not answer" in str(lake.stream())
    QUEUES["beats"] = lake.queue
    assert lake.stream() is None
    assert lake.numbers() == once(range(4))


def test_another_queue_of_the_name_is_refused(lake):
    lake.stream()
    QUEUES["beats"] = Queue(identity=8)
    assert "queue 'beats': is not the one that bronze has rows of" in str(lake.stream())


def test_a_queue_that_nobody_has_made_yet_is_told_as_such(lake):
    del QUEUES["beats"]
    assert "queue 'beats': is not there" in str(lake.stream())


def test_a_feed_that_reads_another_queue_now_keeps_what_it_read(lake):
    lake.stream()
    QUEUES["more"] = Queue()
    QUEUES["more"].send({"model": "vita", "bpm": 90})
    source = lake.feed.source.model_copy(
        update={"memory": lake.feed.source.memory.model_copy(update={"queue": "more"})}
    )
    assert lake.stream(lake.feed.model_copy(update={"source": source})) is None
    vita = lake.rows(lake.feed.silver_table("vita"), "_queue", "_number", "bpm")
    assert sorted(vita) == [("beats", 0, 60), ("more", 0, 90)]


@pytest.mark.long
def test_a_rebuild_derives_the_same_rows(lake):
    lake.stream()
    lake.queue.send({"model": "vita", "bpm": 61})
    lake.stream()
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert lake.numbers() == once(range(4))
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir, keys=["vita"]))
    assert lake.numbers() == once(range(4))


def test_a_requeue_moves_what_fits_now(lake):
    lake.queue.send({"model": "summit", "bpm": 61})
    lake.stream()
    assert lake.rows(quarantine_of("pulse"), "number", "reason") != []
    route = lake.feed.route.model_copy(update={"keys": ("vita", "tempo", "summit")})
    lake.feed = lake.feed.model_copy(update={"route": route})
    lake.redo(lambda redo: redo.requeue())
    assert lake.rows(lake.feed.silver_table("summit"), "bpm", "_number") == [(61, 3)]
    assert lake.numbers() == once(range(4))


@pytest.mark.parametrize(
    ("number", "whereabouts"),
    [
        (0, Whereabouts.SILVER),
        (2, Whereabouts.QUARANTINE),
        (3, Whereabouts.NOT_INGESTED),
        (9, Whereabouts.NOT_IN_SOURCE),
    ],
)
def test_a_row_is_traced_by_its_number(lake, number, whereabouts):
    lake.stream()
    lake.queue.send({"model": "vita", "bpm": 61})
    traced = trace(lake.settings, lake.feed, Origin("beats", 0, number), NOWHERE)
    assert traced.whereabouts is whereabouts


def test_lag_is_measured_against_the_queue(lake):
    lake.stream()
    lake.queue.send({"model": "vita", "bpm": 61}, {"model": "vita", "bpm": 62})
    bronze = next(
        t for t in overview(lake.settings, lake.feed, NOWHERE) if t.table == bronze_of("pulse")
    )
    assert (bronze.rows, bronze.lag_rows) == (3, 2)
    ingested = next(r for r in lake.reports if r.stage is Stage.INGEST)
    assert Lags(LocalStore.at(lake.settings.lake_dir), NOWHERE).of(ingested, lake.feed) == 2
    assert ingested.span.offsets_to == {("beats", 0): 3}
