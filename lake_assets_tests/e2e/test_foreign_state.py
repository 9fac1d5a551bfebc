"""Lakes in states that neither a kill nor a backup leaves, each found by trying to break them."""

import shutil
from collections import Counter
from contextlib import suppress
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable

from lake_assets.delta.committer import Committer
from lake_assets.errors import CommitConflictError, LakeError, StreamError
from lake_assets.model.routes import Route
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.silver.demux_position import read_position
from lake_assets.sources.kafka.topics import client_config, ensure_topic
from lake_assets.streams.pipeline import demux_journal
from lake_assets_tests.events import framed
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

BRONZE, QUARANTINE = bronze_of("games"), quarantine_of("games")


class KilledError(BaseException):
    """Stands for the end of a process."""


class HalfBatch(Committer):
    """A committer that goes down after the first table of a batch."""

    def append(self, commits, batch):
        if "demux" in batch.app_id and any(commit.files for commit in commits):
            super().append(commits[:1], batch)
            raise KilledError
        return super().append(commits, batch)


class HalfChange(Committer):
    """A committer that goes down after the first table of a rebuild."""

    def append(self, commits, batch):
        done = super().append(commits, batch)
        if "redo" in batch.app_id:
            raise KilledError
        return done


@pytest.fixture
def dying(lake):
    def through(kind):
        return StreamedLake(lake.spark, lake.settings, lake.topic, kind=kind)

    return through


def test_a_position_is_read_as_of_the_table_that_was_opened(lake, produce):
    produce(4)
    lake.stream()
    handle = DeltaTable(lake.folder(QUARANTINE))
    produce(4)
    lake.stream()
    assert read_position(handle, "games").number == 1


def test_rows_that_are_restored_to_bronze_while_demux_lives_are_not_taken_again(lake, produce):
    first = produce(6)
    lake.ingest()
    with lake.following() as living:
        living.drain()
        handle = DeltaTable(lake.folder(BRONZE))
        before = handle.version()
        handle.delete()
        living.drain()
        DeltaTable(lake.folder(BRONZE)).restore(before)
        living.drain()
    assert lake.silver == first


def test_a_rebuild_of_one_game_takes_from_the_others_what_is_its_own_by_now(lake, known):
    row = Counter(lake.topic.produce(framed(known, "go_fish", device="uno")))
    lake.stream()
    by_device = lake.topic.feed(route=Route(column="device_id", keys=("uno", "go_fish")))
    with lake.redo(by_device) as redo:
        lake.rebuild_with(redo, keys=["uno"])
    assert lake.silver == row
    assert lake.places(silver_of("uno")) == row


def test_a_rebuild_of_a_bronze_that_was_put_back_is_refused_before_rows_leave(lake, produce):
    produce(6)
    lake.stream()
    kept = lake.keep(lake.folder(BRONZE))
    produce(4)
    lake.stream()
    before = lake.silver
    lake.put_back(kept)
    with pytest.raises(StreamError, match="Let the streams run first"):
        lake.rebuild(keys=["uno"])
    assert lake.silver == before
    lake.stream()
    lake.rebuild()
    assert lake.silver == before


@pytest.mark.long
def test_the_journal_of_another_run_of_a_batch_is_not_believed(lake, produce, dying):
    first = produce(6)
    lake.stream()
    second = produce(4)
    lake.ingest()
    with suppress(KilledError):
        dying(HalfBatch).demux()
    kept = lake.keep(lake.settings.state_dir)
    shutil.rmtree(lake.settings.state_dir)
    third = produce(6)
    lake.ingest()
    with suppress(KilledError):
        dying(HalfBatch).demux()
    lake.put_back(kept)
    lake.stream()
    assert lake.silver == first + second + third


def test_two_processes_that_each_got_half_of_a_batch_lose_nothing(lake, produce, dying):
    first = produce(6)
    lake.stream()
    second = produce(4)
    lake.ingest()
    with lake.following() as late:
        late.recover()
        with suppress(KilledError):
            dying(HalfBatch).demux()
        third = produce(4)
        lake.ingest()
        with suppress(CommitConflictError):
            late.step()
    lake.stream()
    assert lake.silver == first + second + third


def test_rows_of_a_bronze_that_records_no_offsets_are_undone_by_their_own(lake, produce, dying):
    first = produce(6)
    lake.ingest()
    lake.forget_transactions(BRONZE)
    lake.demux()
    second = produce(4)
    lake.ingest()
    with suppress(KilledError):
        dying(HalfBatch).demux()
    demux_journal(lake.settings.state_dir, lake.feed).path.unlink()
    lake.stream()
    assert lake.silver == first + second


@pytest.mark.long
def test_half_a_rebuild_whose_table_was_rewritten_since_is_mended_by_another(lake, produce, dying):
    first = produce(8)
    lake.stream()
    with suppress(KilledError), dying(HalfChange).redo() as redo:
        lake.rebuild_with(redo)
    handle = DeltaTable(lake.folder(silver_of("go_fish")))
    handle.delete("gamer_id = 'g1'")
    handle.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    lake.rebuild()
    lake.stream()
    assert lake.silver == first


def test_starting_offsets_that_the_topic_has_not_are_refused_and_can_be_corrected(lake, produce):
    first = produce(6)
    bad = lake.topic.feed(source=lake.topic.source(starting_offsets={0: 1000}))
    with pytest.raises(StreamError, match=r"Correct source\.kafka\.starting_offsets"):
        lake.stream(bad)
    lake.stream()
    assert lake.silver == first


def test_a_topic_made_anew_before_a_row_of_it_was_read_is_taken(lake, services, known):
    ensure_topic(services, lake.topic.name)
    lake.stream()
    lake.topic.delete()
    row = Counter(lake.topic.produce(framed(known)))
    lake.stream()
    assert lake.silver == row


def test_rows_of_transactions_that_were_aborted_do_not_come(lake, known):
    lake.topic.produce(framed(known))
    producer = Producer({**client_config(lake.topic.endpoints), "transactional.id": uuid4().hex})
    producer.init_transactions(30)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(lake.topic.name, framed(known), key="0")
        producer.flush(20)
        end(30)
    lake.stream()
    assert lake.silver.total() == 1 + 3


@pytest.mark.parametrize("table", with_long([silver_of("chess"), QUARANTINE], long=[QUARANTINE]))
def test_a_table_put_back_alone_after_a_requeue_is_refused(lake, produce, known, table):
    with_chess = lake.topic.feed(route=Route(column="game_name", keys=("uno", "go_fish", "chess")))
    rows = produce(4) + Counter(lake.topic.produce(framed(known, "chess", gamer="c")))
    lake.stream()
    rows += Counter(lake.topic.produce(framed(known, "chess", gamer="d")))
    lake.stream(with_chess)
    kept = lake.keep(lake.folder(table))
    with lake.redo(with_chess) as redo:
        redo.requeue()
    lake.put_back(kept)
    with pytest.raises(StreamError, match="do not fit together"):
        lake.stream(with_chess)
    with lake.redo(with_chess) as redo:
        lake.rebuild_with(redo)
    lake.stream(with_chess)
    assert lake.silver + lake.places(silver_of("chess")) == rows
    assert not lake.quarantine


@pytest.mark.long
def test_a_change_that_was_cut_off_is_finished_without_the_state_folder(lake, produce, dying):
    rows = produce(6)
    lake.stream()
    for column in ("device_id", "game_name"):
        feed = lake.topic.feed(route=Route(column=column, keys=("uno", "go_fish")))
        with suppress(KilledError), dying(HalfChange).redo(feed) as redo:
            lake.rebuild_with(redo)
        shutil.rmtree(lake.settings.state_dir)
        lake.stream(feed)
        assert lake.silver + lake.quarantine == rows


def test_rows_that_a_restore_took_from_bronze_are_read_again(lake, produce):
    first = produce(6)
    lake.stream()
    before = lake.version(BRONZE)
    second = produce(4)
    lake.ingest()
    DeltaTable(lake.folder(BRONZE)).restore(before)
    lake.stream()
    assert (lake.bronze, lake.silver) == (first + second, first + second)


def test_rows_that_come_to_bronze_again_are_not_taken_again(lake, produce):
    first = produce(6)
    lake.stream()
    before = lake.version(BRONZE)
    second = produce(4)
    with lake.following() as living:
        lake.ingest()
        living.drain()
        DeltaTable(lake.folder(BRONZE)).restore(before)
        living.drain()
        third = produce(4)
        lake.ingest()
        living.drain()
    assert (lake.bronze, lake.silver) == (first + second + third, first + second + third)


@pytest.mark.parametrize("table", with_long([silver_of("uno"), QUARANTINE], long=[QUARANTINE]))
def test_a_restore_of_silver_is_refused_until_it_is_rebuilt(lake, produce, table):
    rows = produce(4)
    lake.stream()
    before = lake.version(table)
    rows += produce(4) + Counter(lake.topic.produce(b"bad"))
    lake.stream()
    DeltaTable(lake.folder(table)).restore(before)
    for use in (lake.stream, lambda: lake.rebuild(keys=["uno"])):
        with pytest.raises(StreamError, match=rf"{table.name} was put back .* \(RESTORE\)"):
            use()
    lake.rebuild()
    lake.stream()
    assert lake.silver + lake.quarantine == rows


def test_a_restore_of_silver_under_a_living_demux_is_noticed(lake, produce):
    rows = produce(4)
    lake.ingest()
    with lake.following() as living:
        living.drain()
        before = lake.version(silver_of("uno"))
        rows += produce(4)
        lake.ingest()
        living.drain()
        DeltaTable(lake.folder(silver_of("uno"))).restore(before)
        rows += produce(4)
        lake.ingest()
        with pytest.raises(LakeError, match="was put back to an older version"):
            living.drain()
    lake.rebuild()
    lake.stream()
    assert lake.silver == rows


def test_a_position_outlives_the_log_s_retention(lake, produce, known):
    rows = produce(4) + Counter(lake.topic.produce(b"bad", b"worse"))
    lake.stream()
    quarantine = lake.folder(QUARANTINE)
    DeltaTable(quarantine).optimize.z_order(["offset"])
    lake.stream()
    DeltaTable(quarantine).create_checkpoint()
    for commit in (quarantine / "_delta_log").glob("*.json"):
        if int(commit.stem) < lake.version(QUARANTINE):
            commit.unlink()
    rows += Counter(lake.topic.produce(framed(known)))
    lake.stream()
    assert lake.silver + lake.quarantine == rows
