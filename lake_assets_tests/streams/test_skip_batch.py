"""Skipping, in a lake whose rows the test commits itself: no Spark is asked to skip."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.bronze import rows
from lake_assets.bronze.ingest import Ingest
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.source_offsets import begin_info, offset_transactions, table_offsets
from lake_assets.delta.table_log import log_of
from lake_assets.errors import ConstraintViolatedError, StreamError
from lake_assets.logs.gaps import recorded_gaps
from lake_assets.model.reports import Stage
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.recovery import Recovery
from lake_assets.sources.base import Fetched
from lake_assets.sources.catalog import SOURCES
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.batch_strikes import (
    BatchRange,
    Strikes,
    read_strikes,
    strikes_file,
    write_strikes,
)
from lake_assets.streams.demux_loop import begin_of, tables_of_silver
from lake_assets.streams.pipeline import Pipeline
from lake_assets.streams.skip_batch import skip_asked_batches
from lake_assets.streams.skip_request import ask_to_skip, is_released, request_file
from lake_assets_tests.columns import BRONZE
from lake_assets_tests.known_topic import NOWHERE, KnownTopic
from lake_assets_tests.sample import GAMES

FEED = GAMES.model_copy(update={"source": Source(kafka=KafkaSource(topic="t"))})
AT = datetime(2026, 11, 24, tzinfo=UTC)
COLUMNS = BRONZE.remove(BRONZE.get_field_index(rows.PARTITION))


PLACE = ("t", 0)


class KnownKafka(KnownTopic):
    """A topic of partition 0 that has what is asked for, but for what is damaged."""

    damaged = range(4, 6)

    @classmethod
    def of(cls, feed, endpoints, lake):  # noqa: ARG003
        return cls(KafkaSource(topic="t"), {0: 0}, {0: 99}, 7)

    def fetch(self, *, starts, ends, timeout_s=10.0):  # noqa: ARG002
        found = [
            {"value": b"%d" % o, "topic": "t", "partition": 0, "offset": o, "kafka_timestamp": AT}
            for o in range(starts[PLACE], ends[PLACE])
            if o not in self.damaged
        ]
        hit = range(max(starts[PLACE], self.damaged.start), min(ends[PLACE], self.damaged.stop))
        unreadable = {PLACE: [(hit.start, hit.stop)]} if hit else {}
        yield Fetched(rows=pa.Table.from_pylist(found, schema=self.columns), unreadable=unreadable)


class Lake:
    def __init__(self, settings, context):
        self.settings, self.context, self.reports = settings, context, []
        self.pipeline = Pipeline(
            session=None,  # whatever made the batch fail is not asked
            endpoints=NOWHERE,
            context=context,
            stream=settings.stream,
            state_dir=settings.state_dir,
            report=self.reports.append,
        )
        self._number = self._end = 0

    def begin(self):
        source = KnownKafka.of(None, None, None)
        Ingest(feed=FEED, source=source, context=self.context, report=print).prepare()
        self._number = 1
        return self.position()

    def land(self, count):
        """As ingest commits a batch."""
        first, self._end, self._number = self._end, self._end + count, self._number + 1
        found = [
            {"value": b"%d" % o, "topic": "t", "partition": 0, "offset": o, "ingested_at": AT}
            for o in range(first, self._end)
        ]
        table = bronze_of("games")
        folder, partition = log_of(self.context.lake, table).folder, {rows.PARTITION: "2026-11-24"}
        data = pa.Table.from_pylist(found, schema=COLUMNS)
        written = write_file(self.context.lake, data, folder, f"{rows.PARTITION}=2026-11-24")
        reached, before = {("t", 0): self._end}, {("t", 0): first}
        commit = Commit(
            table=table,
            files=[DataFile(partition=partition, **written)],
            info=begin_info(reached, before),
            transactions=offset_transactions("kafka", reached, before),
        )
        batch = Batch("lake_assets:ingest:games", self._number)
        assert self.context.committer.append([commit], batch) == []
        return DeltaTable(self.settings.lake_dir / table.relative).version()

    def position(self):
        """Where demux goes on, as a process that has just started finds it."""
        recovery = Recovery(
            feed="games",
            origin=FEED.source.origin,
            context=self.context,
            journal=self.pipeline.journal(FEED),
            report=self.reports.append,
        )
        bronze = self.context.committer.fresh(bronze_of("games"))
        return recovery.run(tables_of_silver(self.context.lake, FEED), bronze).position

    def fail(self, stage, begin, end):
        strikes = Strikes(
            batch=BatchRange(begin=begin, end=end, words="some"), errors=3, cause="bad row"
        )
        write_strikes(strikes_file(self.settings.state_dir, "games", stage), strikes)

    def skip(self):
        skip_asked_batches(self.pipeline, FEED)

    def ask(self):
        ask_to_skip(self.settings.state_dir, FEED)

    @property
    def quarantine(self):
        table = DeltaTable(self.settings.lake_dir / quarantine_of("games").relative)
        return sorted(
            (row["offset"], row["reason"], row["value"])
            for row in table.to_pyarrow_table().to_pylist()
        )


@pytest.fixture
def lake(settings, monkeypatch):
    monkeypatch.setitem(SOURCES, KafkaSource, KnownKafka)
    with open_lake(settings) as context:
        yield Lake(settings, context)


def skipped(*offsets):
    return [(offset, "skipped", b"%d" % offset) for offset in offsets]


def test_nothing_is_skipped_that_nobody_asked_to_skip(lake):
    begin = begin_of(lake.begin())
    lake.fail(Stage.DEMUX, begin, str(lake.land(2)))
    lake.skip()
    assert lake.quarantine == []


def test_the_rows_of_the_batch_are_in_quarantine_as_they_came_and_demux_is_after_it(lake):
    begin = begin_of(lake.begin())
    lake.land(2)
    end = lake.land(1)
    later = lake.land(1)
    lake.fail(Stage.DEMUX, begin, str(end))
    lake.ask()
    lake.skip()
    assert lake.quarantine == skipped(0, 1, 2)
    position = lake.position()
    assert (position.bronze.version, position.offsets) == (end, {("t", 0): 3})
    assert later == end + 1
    assert [report.rows for report in lake.reports] == [{"quarantine_games": 3}]
    assert read_strikes(strikes_file(lake.settings.state_dir, "games", Stage.DEMUX)) is None
    assert not request_file(lake.settings.state_dir, FEED, Stage.DEMUX).exists()


def test_a_process_that_dies_after_it_skipped_skips_nothing_more_the_next_time(lake):
    begin = begin_of(lake.begin())
    end = lake.land(2)
    for _ in range(2):
        lake.fail(Stage.DEMUX, begin, str(end))
        lake.ask()
        lake.skip()
        lake.land(1)
    assert lake.quarantine == skipped(0, 1)


def test_a_request_for_a_batch_that_is_not_the_one_that_failed_last_is_void(lake, caplog):
    begin = begin_of(lake.begin())
    end = lake.land(2)
    lake.fail(Stage.DEMUX, "another", str(end))
    lake.ask()
    lake.fail(Stage.DEMUX, begin, str(end))
    lake.skip()
    assert lake.quarantine == []
    assert "demux of feed 'games' skips nothing" in caplog.text
    # The one that failed is as it was: nobody said that it is to be skipped or tried again.
    assert read_strikes(strikes_file(lake.settings.state_dir, "games", Stage.DEMUX)).errors == 3
    assert not is_released(lake.settings.state_dir, FEED, Stage.DEMUX)


def test_rows_that_were_deleted_from_bronze_are_not_skipped_into_quarantine(lake):
    begin = begin_of(lake.begin())
    lake.land(3)
    DeltaTable(lake.settings.lake_dir / bronze_of("games").relative).delete("offset = 1")
    end = lake.land(1)
    lake.fail(Stage.DEMUX, begin, str(end))
    lake.ask()
    lake.skip()
    assert lake.quarantine == skipped(0, 2, 3)


def test_later_rows_are_not_skipped_where_the_log_no_longer_tells_them_apart(lake):
    begin = begin_of(lake.begin())
    end = lake.land(2)
    lake.land(1)
    log = lake.settings.lake_dir / bronze_of("games").relative / "_delta_log"
    DeltaTable(log.parent).create_checkpoint()
    for version in range(end + 1):
        (log / f"{version:020}.json").unlink()
    lake.fail(Stage.DEMUX, begin, str(end))
    lake.ask()
    with pytest.raises(StreamError, match="no longer tells the rows of some from later ones"):
        lake.skip()
    assert lake.quarantine == []


def test_rows_that_the_source_can_give_go_to_bronze_and_the_others_are_a_gap(lake):
    lake.begin()
    lake.land(2)
    lake.fail(Stage.INGEST, '{"t": {"0": 2}}', '{"t": {"0": 8}}')
    lake.ask()
    lake.skip()
    bronze = DeltaTable(lake.settings.lake_dir / bronze_of("games").relative)
    assert table_offsets(bronze, "kafka", "t") == {("t", 0): 8}
    found = sorted(
        zip(*(bronze.to_pyarrow_table()[c].to_pylist() for c in ("offset", "value")), strict=True)
    )
    assert found == [(o, b"%d" % o) for o in (0, 1, 2, 3, 6, 7)]
    ((gap),) = [found.gap for found in recorded_gaps(lake.context.lake, "games")]
    assert (gap.offset_from, gap.offset_to, gap.reason) == (4, 6, "skipped")
    assert [(r.stage, r.rows) for r in lake.reports] == [(Stage.INGEST, {"bronze_games": 4})]


def test_rows_that_bronze_refuses_are_put_aside_once_whatever_dies(lake, monkeypatch):
    lake.begin()

    def refuse(_, file):
        folder = lake.settings.lake_dir / bronze_of("games").relative
        offsets = pq.ParquetFile(folder / file.path).read(["offset"])["offset"]
        if {3, 6} & set(offsets.to_pylist()):
            raise ConstraintViolatedError("bronze_games", "offset", "is forbidden", "Look")

    monkeypatch.setattr(Ingest, "judge", refuse)
    lake.fail(Stage.INGEST, "{}", '{"t": {"0": 8}}')
    lake.ask()
    with monkeypatch.context() as patch:
        patch.setattr(Ingest, "pass_over", die)
        with pytest.raises(KeyboardInterrupt):
            lake.skip()
    assert lake.quarantine == skipped(3, 6)
    lake.skip()
    assert lake.quarantine == skipped(3, 6)
    bronze = DeltaTable(lake.settings.lake_dir / bronze_of("games").relative)
    assert sorted(bronze.to_pyarrow_table()["offset"].to_pylist()) == [0, 1, 2, 7]
    gaps = sorted(found.gap for found in recorded_gaps(lake.context.lake, "games"))
    assert [(gap.offset_from, gap.offset_to, gap.reason) for gap in gaps] == [
        (3, 4, "refused"),
        (4, 6, "skipped"),
        (6, 7, "refused"),
    ]


def test_rows_that_are_refused_by_the_thousand_are_not_tried_one_by_one(lake, monkeypatch):
    lake.begin()
    tries = []

    def refuse(_, file):
        tries.append(file)
        raise ConstraintViolatedError("bronze_games", "offset", "is forbidden", "Look")

    monkeypatch.setattr(Ingest, "judge", refuse)
    monkeypatch.setattr(KnownKafka, "damaged", range(0))
    monkeypatch.setattr("lake_assets.streams.skip_ingest._MOST_TRIES", 10)
    lake.fail(Stage.INGEST, "{}", '{"t": {"0": 90}}')
    lake.ask()
    lake.skip()
    assert len(tries) < 20
    assert lake.quarantine == skipped(*range(90))


def test_what_a_broker_lost_of_the_batch_is_not_waited_for(lake, monkeypatch):
    lake.begin()
    monkeypatch.setattr(KnownKafka, "damaged", range(0))
    lake.fail(Stage.INGEST, "{}", '{"t": {"0": 200}}')
    lake.ask()
    lake.skip()
    bronze = DeltaTable(lake.settings.lake_dir / bronze_of("games").relative)
    assert table_offsets(bronze, "kafka", "t") == {("t", 0): 99}


def die(*_):
    raise KeyboardInterrupt


def test_a_batch_of_ingest_that_was_written_after_all_is_not_passed_over(lake, caplog):
    lake.begin()
    lake.land(3)
    lake.fail(Stage.INGEST, '{"t": {"0": 2}}', '{"t": {"0": 5}}')
    lake.ask()
    lake.skip()
    assert recorded_gaps(lake.context.lake, "games") == []
    assert "ingest of feed 'games' skips nothing" in caplog.text
    assert is_released(lake.settings.state_dir, FEED, Stage.INGEST)


def test_strikes_without_a_failure_are_no_batch_to_skip(lake):
    file = strikes_file(lake.settings.state_dir, "games", Stage.DEMUX)
    lake.fail(Stage.DEMUX, "a", "b")
    strikes = read_strikes(file)
    assert strikes is not None
    write_strikes(file, replace(strikes, errors=0))
    with pytest.raises(StreamError, match="no batch that failed last"):
        lake.ask()
