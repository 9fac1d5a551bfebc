import random

import pytest
from deltalake import DeltaTable

from lake_assets.backup.batch_versions import position_at
from lake_assets.backup.consistent_cut import choose_versions
from lake_assets.backup.shared_cut import shared_cut
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.data_files import active_files
from lake_assets.delta.increments import Point
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum, numbers_of
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.silver.demux_position import POSITION, Position, batch_of, demux_app
from lake_assets.silver.lost_rows import note_lost
from lake_assets_tests.backup.lakes import FISH, QUARANTINE, UNO, BatchedLake
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.maintenance.lakes import SCHEMA

FEEDS = ("games", "twin")


class Filler:
    """One of the feeds that fill a lake's silver tables, and what its streams know of them."""

    def __init__(self, lake, feed):
        self.lake, self.feed = lake, feed
        self.bronze, self.quarantine = bronze_of(feed), quarantine_of(feed)
        self.batch, self.left, self.numbers = 0, (), {}

    def demux(self, *tables, whole):
        if self.left:
            self.finish()
            return
        self.batch += 1
        for table in tables:
            self.lake.add(table, batch_of(self.feed, self.batch))
        self.left = tables
        if whole:
            self.finish()

    def finish(self):
        tables, self.left = self.left, ()
        self.numbers |= dict.fromkeys(tables, self.batch)
        log = log_of(self.lake.store, self.bronze)
        position = Position(
            number=self.batch,
            bronze_id=str(log.open().metadata().id),
            bronze=Point.at(log, log.open().version()),
            tables=checksum(self.numbers),
        )
        commit = Commit(table=self.quarantine, files=(), info={POSITION: position.to_json()})
        self.lake.committer.append([commit], batch_of(self.feed, self.batch))


class FilledLake(BatchedLake):
    def __init__(self, settings):
        super().__init__(settings)
        twin = [bronze_of("twin"), quarantine_of("twin")]
        self.committer.create(dict.fromkeys(twin, SCHEMA))
        self.fillers = {feed: Filler(self, feed) for feed in FEEDS}

    def add(self, table, batch):
        self._add(table, batch)


@pytest.fixture
def lake(settings):
    return FilledLake(settings)


def ensure_fitting(lake, versions):
    """Each feed's whole batches are in the cut, and nothing of others; as new as can be."""
    for feed, filler in lake.fillers.items():
        log = log_of(lake.store, filler.quarantine)
        handle = log.open(versions[filler.quarantine])
        position = position_at(log, handle, demux_app(feed))
        silver = {table: log_of(lake.store, table).open(versions[table]) for table in (UNO, FISH)}
        numbers = numbers_of(demux_app(feed), silver)
        assert checksum(numbers) == (position.tables if position else checksum({}))


@pytest.mark.parametrize("seed", with_long(range(6), long=range(3, 6)))
def test_at_each_step_of_two_feeds_the_cut_fits_both(lake, seed):
    chance = random.Random(seed)  # noqa: S311 - the same each time
    for filler in lake.fillers.values():
        filler.demux(UNO, FISH, whole=True)
    for _ in range(25):
        filler = lake.fillers[chance.choice(FEEDS)]
        tables = chance.choice([(UNO,), (FISH,), (UNO, FISH)])
        filler.demux(*tables, whole=chance.random() < 0.5)
        cut = choose_versions(lake.store, pause=lambda _: None)
        assert cut.notes == ()
        ensure_fitting(lake, cut.versions)


def test_for_a_feed_that_lost_rows_no_table_is_taken_back(lake):
    for filler in lake.fillers.values():
        filler.demux(UNO, FISH, whole=True)
    before = lake.version(UNO)
    lake.fillers["games"].demux(UNO, whole=True)
    DeltaTable(lake.path(UNO)).restore(before)
    note_lost(lake.store, ["games"], "silver_uno_events was put back")
    cut = choose_versions(lake.store, pause=lambda _: None)
    tables = (UNO, FISH, QUARANTINE, quarantine_of("twin"))
    assert {table: cut.versions[table] for table in tables} == {t: lake.version(t) for t in tables}
    assert cut.notes == ("silver_uno_events was put back: its streams wait for `rebuild silver`",)


def test_where_files_from_before_a_half_batch_were_deleted_no_table_is_taken_back(lake):
    for filler in lake.fillers.values():
        filler.demux(UNO, FISH, whole=True)
    lake.fillers["games"].demux(UNO, FISH, whole=False)
    lake.fillers["twin"].demux(FISH, whole=True)
    lake.committer.compact(UNO)
    kept = {file.path for file in active_files(log_of(lake.store, UNO).open())}
    for name in lake.data(UNO) - kept:
        (lake.path(UNO) / name).unlink()
    cut = choose_versions(lake.store, pause=lambda _: None)
    tables = (UNO, FISH, QUARANTINE, quarantine_of("twin"))
    assert {table: cut.versions[table] for table in tables} == {t: lake.version(t) for t in tables}
    assert [note.split(":")[0] for note in cut.notes] == ["feed games", "feed games"]


def opened(lake, *tables):
    return {table: DeltaTable(lake.path(table)) for table in tables}


def at(lake):
    return lambda table, version: log_of(lake.store, table).open(version)


def test_a_lake_of_one_feed_is_left_as_it_was_opened(lake):
    lake.fillers["games"].demux(UNO, whole=False)
    handles = opened(lake, UNO, FISH, QUARANTINE, quarantine_of("twin"))
    assert shared_cut(lake.store, handles, at(lake)) == {}


def test_what_fits_no_batch_is_left_as_it_was_opened(lake):
    for filler in lake.fillers.values():
        filler.demux(UNO, whole=True)
    lake.add(FISH, Batch(demux_app("games"), 1))
    handles = opened(lake, UNO, FISH, QUARANTINE, quarantine_of("twin"))
    assert shared_cut(lake.store, handles, at(lake)) == {}
    assert choose_versions(lake.store, pause=lambda _: None).notes
