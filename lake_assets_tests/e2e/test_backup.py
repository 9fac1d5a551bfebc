"""A lake that is backed up while its streams run, and goes on from the backup elsewhere.

Counted by readers that are not Spark: each event in exactly one place, none lost and none doubled.
"""

import threading
from collections import Counter
from contextlib import contextmanager, suppress

import pytest
from deltalake import DeltaTable

from lake_assets.backup.create import back_up
from lake_assets.backup.progress import Progress
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.committer import Committer
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.table_log import log_of
from lake_assets.gold.run import Warm
from lake_assets.maintenance.run import maintain
from lake_assets.model.reports import Mode
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.silver.demux_position import read_position
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import streams_lock, turn
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.noted_changes import REDO_TURN
from lake_assets.streams.refresh import refresh_gold
from lake_assets_tests.backup.lakes import place_at, restored
from lake_assets_tests.sample import gold_of, silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

BRONZE, QUARANTINE, UNO = bronze_of("games"), quarantine_of("games"), silver_of("uno")
UNO_AGG = gold_of("uno", "player_agg")


class KilledError(BaseException):
    """Stands for the end of a process."""


class HalfBatch(Committer):
    """A committer that goes down after the first table of a batch."""

    def append(self, commits, batch):
        if "demux" in batch.app_id and any(commit.files for commit in commits):
            super().append(commits[:1], batch)
            raise KilledError
        return super().append(commits, batch)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "place"


@pytest.fixture
def elsewhere(lake, tmp_path):
    """The lake's topic, read into another lake."""
    settings = lake.settings.model_copy(update={"home": tmp_path / "elsewhere"})
    return StreamedLake(lake.spark, settings, lake.topic)


def refresh(lake):
    with open_lake(lake.settings, lake.spark) as context:
        warm = Warm(session=lake.spark, context=context)
        done = refresh_gold(lake.settings, lake.feed, warm=warm)
        return [one for report in done.reports for one in report.refreshed]


@contextmanager
def going_on(lake, produce):
    """Living streams and refreshes: batch after batch until the end of the block."""
    ended, produced, problems = threading.Event(), Counter(), []

    def go():
        try:
            with lake.following() as living:
                while not ended.is_set():
                    produced.update(produce(6, bad=1))
                    lake.ingest()
                    living.drain()
                    refresh(lake)
        except Exception as problem:  # noqa: BLE001 - told below
            problems.append(problem)

    worker = threading.Thread(target=go)
    worker.start()
    try:
        yield produced
    finally:
        ended.set()
        worker.join()
    assert problems == []


def ensure_fitting(lake):
    """What positions name is there, as they name it."""
    store = lake_of(lake.settings)
    position = read_position(DeltaTable(lake.folder(QUARANTINE)), "games")
    named = (position.bronze.version, position.bronze.digest)
    assert commit_digest(log_of(store, BRONZE), named[0]) == named[1]
    for key in ("uno", "go_fish"):
        gold = log_of(store, gold_of(key, "player_agg"))
        if gold.exists():
            stands = position_from(gold.open().history(1)[0])
            silver = log_of(store, silver_of(key))
            assert stands.silver_version <= silver.open().version()
            assert commit_digest(silver, stands.silver_version) == stands.silver_commit


def test_a_backup_of_a_running_lake_goes_on_elsewhere(lake, produce, place, elsewhere):
    rows = produce(8, bad=1)
    lake.stream()
    refresh(lake)
    manifests = []
    with going_on(lake, produce) as produced:
        for _ in range(4):
            seen = sum(produced.values())
            manifests.append(back_up(lake.settings, place_at(place), Progress()))
            while sum(produced.values()) == seen:
                threading.Event().wait(0.05)
    rows += produced
    assert [manifest.notes for manifest in manifests] == [()] * 4
    for number in (2, 4):
        restored(elsewhere.settings, place, number=number, force=True)
        ensure_fitting(elsewhere)
        held = elsewhere.silver + elsewhere.quarantine
        assert held <= rows
        assert max(held.values()) == 1
        elsewhere.stream()
        assert elsewhere.bronze == elsewhere.silver + elsewhere.quarantine == rows
        modes = {one.mode for one in refresh(elsewhere)}
        assert modes == {Mode.INCREMENTAL}  # gold goes on from where it is
    lake.stream()
    assert lake.silver + lake.quarantine == rows


@pytest.mark.long
def test_rebuilds_beside_it(lake, produce, place, elsewhere):
    """Each changes all tables, one by one, under a number of its own."""
    rows = produce(8, bad=1)
    lake.stream()
    ended, problems = threading.Event(), []

    def rebuild():
        try:
            while not ended.is_set():
                with turn(lake.settings.state_dir, REDO_TURN):
                    lake.rebuild()
        except Exception as problem:  # noqa: BLE001 - told below
            problems.append(problem)

    worker = threading.Thread(target=rebuild)
    manifests = []
    with streams_lock(lake.settings.state_dir), going_on(lake, produce) as produced:
        worker.start()
        try:
            for _ in range(6):
                changed = lake.version(QUARANTINE)
                manifests.append(back_up(lake.settings, place_at(place), Progress()))
                while lake.version(QUARANTINE) == changed:
                    threading.Event().wait(0.05)
        finally:
            ended.set()
            worker.join()
    rows += produced
    assert problems == []
    assert [manifest.notes for manifest in manifests] == [()] * 6
    for manifest in manifests:
        restored(elsewhere.settings, place, number=manifest.number, force=True)
        elsewhere.stream()
        assert elsewhere.silver + elsewhere.quarantine == rows


def test_a_batch_that_was_cut_off_is_not_in_the_copy(lake, produce, place, elsewhere):
    rows = produce(6)
    lake.stream()
    rows += produce(4)
    lake.ingest()
    with suppress(KilledError):
        StreamedLake(lake.spark, lake.settings, lake.topic, kind=HalfBatch).demux()
    assert not back_up(lake.settings, place_at(place), Progress()).notes
    restored(elsewhere.settings, place)
    assert elsewhere.silver.total() == 6
    elsewhere.stream()
    assert elsewhere.silver == rows
    # The same in place of the lake, beside whose state the journal of that batch was.
    restored(lake.settings, place, force=True)
    lake.stream()
    assert lake.silver == rows


@pytest.mark.long
def test_compactions_and_vacuums_beside_it(lake, produce, place, elsewhere):
    quick = lake.settings.model_copy(
        update={"maintenance": MaintenanceSettings(keep_hours=1e-9, join_at_files=2)}
    )
    rows = produce(8, bad=1)
    lake.stream()
    progress = Progress()

    def upkeep(_):
        maintain(quick, lake.feed)
        DeltaTable(lake.folder(UNO)).optimize.compact()

    progress.told = upkeep
    with going_on(lake, produce) as produced:
        back_up(lake.settings, place_at(place), progress)
    rows += produced
    restored(elsewhere.settings, place)
    ensure_fitting(elsewhere)
    elsewhere.stream()
    assert elsewhere.silver + elsewhere.quarantine == rows


def test_a_torn_newest_commit_is_not_in_the_copy(lake, produce, place, elsewhere):
    rows = produce(6)
    lake.stream()
    rows += produce(4)
    lake.ingest()
    log = log_of(lake_of(lake.settings), BRONZE)
    newest = log.commit_file(lake.version(BRONZE)).as_path()
    newest.write_bytes(newest.read_bytes()[:100])
    back_up(lake.settings, place_at(place), Progress())
    restored(elsewhere.settings, place)
    assert elsewhere.bronze.total() == 6
    elsewhere.stream()
    assert elsewhere.silver == elsewhere.bronze == rows


def test_rows_that_deletion_vectors_deleted_stay_deleted(lake, produce, place, elsewhere, spark):
    produce(8)
    lake.stream()
    table = f"delta.`{lake.folder(UNO)}`"
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    spark.sql(f"DELETE FROM {table} WHERE gamer_id = 'g0'")  # noqa: S608 - our own table
    back_up(lake.settings, place_at(place), Progress())
    restored(elsewhere.settings, place)
    assert spark.read.format("delta").load(str(elsewhere.folder(UNO))).count() == 3
    produce(2)
    elsewhere.stream()
    assert spark.read.format("delta").load(str(elsewhere.folder(UNO))).count() == 4
