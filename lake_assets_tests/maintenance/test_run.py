import os
import threading
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta import compaction
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.commit_journal import journal_of
from lake_assets.delta.committer import Committer
from lake_assets.delta.increments import Point, next_increment
from lake_assets.delta.log_checkpoints import CHECKPOINT_EVERY
from lake_assets.delta.table_log import log_of
from lake_assets.errors import FeedError, LakeError
from lake_assets.maintenance.run import maintain, seconds_of
from lake_assets.parquet.bloom_filters import bloomed_columns
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.state.files import turn
from lake_assets.streams.noted_changes import REDO_TURN
from lake_assets_tests.clock import wall_clock
from lake_assets_tests.maintenance.lakes import SCHEMA, WrittenLake, later
from lake_assets_tests.sample import GAMES, silver_of

UNO = silver_of("uno")


@pytest.fixture
def lake(settings):
    made = WrittenLake(settings, GAMES.feed)
    made.create(UNO, "uno")
    yield made
    made.committer.close()


@pytest.fixture
def at_once(settings):
    """Settings with which all that may go goes."""
    upkeep = MaintenanceSettings(keep_hours=1, join_at_files=4)
    return settings.model_copy(update={"maintenance": upkeep})


def upkeep_of(settings, table=UNO, **options):
    return next(u for u in maintain(settings, GAMES, **options) if u.table == table)


def test_small_files_become_one_and_go_when_nobody_can_need_them(lake, at_once):
    lake.append(UNO, 60)
    first = upkeep_of(at_once)
    assert (first.joined, first.into, first.deleted) == (60, 1, 0)
    assert lake.numbers(UNO) == list(range(1, 61))
    assert lake.numbers(UNO, version=7) == list(range(1, 8))
    assert len(lake.data(UNO)) == 61
    lake.age(UNO, 2)
    second = upkeep_of(at_once)
    assert (second.joined, second.deleted) == (0, 60)
    assert second.log_files > CHECKPOINT_EVERY
    assert len(lake.data(UNO)) == 1
    assert lake.numbers(UNO) == list(range(1, 61))
    assert upkeep_of(at_once).is_idle


def test_rows_are_sorted_where_the_feed_says_by_what(lake, at_once):
    for number in (3, 1, 4, 2):
        row = pa.table({"n": [number], "text": ["x"]}, schema=SCHEMA)
        commit = Commit(table=UNO, files=[lake.file(UNO, row)])
        lake.committer.append([commit], Batch(f"other {number}", 1))
    feed = GAMES.model_copy(update={"cluster_by": ("n",)})
    maintain(at_once, feed)
    assert DeltaTable(lake.path(UNO)).to_pyarrow_table()["n"].to_pylist() == [1, 2, 3, 4]


def test_joined_files_have_filters_of_the_columns_that_the_feed_names(lake, at_once):
    lake.append(UNO, 6)
    feed = GAMES.model_copy(update={"bloom_filters": ("text", "missing")})
    maintain(at_once, feed)
    (path,) = DeltaTable(lake.path(UNO)).file_uris()
    assert bloomed_columns(pq.read_metadata(path)) == ("text",)


def test_streams_go_on_beside_it(lake, at_once):
    """The committer and its handles are those of before, as a stream's are."""
    lake.append(UNO, 40, hours_ago=2)
    done = threading.Event()

    def run():
        while not done.is_set():
            upkeep_of(at_once)

    worker = threading.Thread(target=run)
    worker.start()
    try:
        for _ in range(12):
            lake.append(UNO, 10)
            lake.age(UNO, 2)
    finally:
        done.set()
        worker.join()
    upkeep_of(at_once)
    assert lake.numbers(UNO) == list(range(1, 161))
    assert len(DeltaTable(lake.path(UNO)).file_uris()) < 16


def test_a_handle_of_before_follows_though_the_log_was_shortened(lake, at_once):
    lake.append(UNO, 5)
    other = Committer(lake.store, threads=1)
    assert other.fresh(UNO).version() == 5
    lake.append(UNO, 60, hours_ago=2)
    upkeep_of(at_once)
    assert upkeep_of(at_once).log_files == 0
    assert f"{6:020}.json" not in lake.log(UNO)
    handle = other.fresh(UNO)
    assert handle.version() == DeltaTable(lake.path(UNO)).version()
    assert len(handle.file_uris()) == len(DeltaTable(lake.path(UNO)).file_uris())
    other.close()


def test_a_consumer_reads_what_came_whatever_was_joined(lake, at_once):
    lake.append(UNO, 10)
    log = log_of(lake.store, UNO)
    point = Point.at(log, 10)
    upkeep_of(at_once)
    lake.append(UNO, 3)
    found = next_increment(log, [GAMES.source.named("any")], point, taken={}, max_bytes=1 << 30)
    assert [file.rows for file in found.files] == [1, 1, 1]


def test_files_of_a_batch_that_is_noted_stay(lake, at_once):
    lake.append(UNO, 3)
    row = pa.table({"n": [100], "text": ["x"]}, schema=SCHEMA)
    noted, orphan = lake.file(UNO, row), lake.file(UNO, row)
    commit = Commit(table=UNO, files=[noted])
    journal_of(at_once.state_dir, "games", "demux").path.parent.mkdir(parents=True)
    journal_of(at_once.state_dir, "games", "demux").write(Batch("stream", 4), [commit])
    assert upkeep_of(at_once).deleted == 0
    later(at_once)
    assert upkeep_of(at_once).deleted == 1
    assert noted.path in lake.data(UNO)
    assert orphan.path not in lake.data(UNO)


@pytest.mark.parametrize("name", ["part-1.parquet", "staged-abc.tmp", "day=1/part-2.parquet"])
def test_what_a_killed_task_left_goes_after_a_week(lake, at_once, name):
    lake.append(UNO)
    left = lake.path(UNO) / name
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"half")
    lake.age(UNO, 24 * 365)  # the clock may be wrong
    upkeep_of(at_once)
    later(at_once, wall_s=6.9 * 86_400)
    assert upkeep_of(at_once).deleted == 0
    later(at_once)
    assert upkeep_of(at_once).deleted == 1
    assert not left.exists()


def test_a_clock_that_is_set_ahead_deletes_nothing_of_a_running_job(lake, at_once):
    lake.append(UNO)
    (lake.path(UNO) / "part-1.parquet").write_bytes(b"half")
    upkeep_of(at_once)
    with wall_clock() as clock:
        clock.ahead += timedelta(days=30)
        assert upkeep_of(at_once).deleted == 0
        later(at_once, wall_s=0)
        assert upkeep_of(at_once).deleted == 1


def test_a_commit_from_a_clock_that_was_ahead_does_not_keep_all_after_it(lake, at_once):
    lake.append(UNO, 60)
    upkeep_of(at_once)
    lake.append(UNO, 60)
    lake.age(UNO, 2)
    a_year_ahead = (lake.path(UNO) / "_delta_log" / f"{5:020}.json").stat().st_mtime + 3e7
    os.utime(lake.path(UNO) / "_delta_log" / f"{5:020}.json", (a_year_ahead, a_year_ahead))
    done = upkeep_of(at_once)
    assert (done.deleted, bool(done.log_files)) == (60, True)


def test_a_file_that_was_met_while_the_clock_was_ahead_goes_a_week_after_it_was_set_back(
    lake, at_once
):
    lake.append(UNO)
    (lake.path(UNO) / "part-1.parquet").write_bytes(b"half")
    with wall_clock() as clock:
        clock.ahead += timedelta(days=365)
        upkeep_of(at_once)
    assert upkeep_of(at_once).deleted == 0
    later(at_once)
    assert upkeep_of(at_once).deleted == 1


def test_rows_that_somebody_deleted_stay_for_a_week(lake, at_once):
    lake.append(UNO, 10)
    upkeep_of(at_once)
    DeltaTable(lake.path(UNO)).delete("n = 3")
    lake.append(UNO, 30)
    lake.age(UNO, 2)
    before = upkeep_of(at_once)
    assert before.deleted == 10  # joined before
    assert before.log_files
    lake.age(UNO, 2)
    assert upkeep_of(at_once).deleted == 31  # and the one that the deletion left
    later(at_once)
    assert upkeep_of(at_once).deleted == 1
    assert lake.numbers(UNO) == [n for n in range(1, 41) if n != 3]


def test_what_is_no_data_file_stays(lake, at_once):
    lake.append(UNO)
    names = ["deletion_vector_1.bin", "_change.json", "_change_data/a.parquet", ".x/b.parquet"]
    for name in names:
        (lake.path(UNO) / name).parent.mkdir(exist_ok=True)
        (lake.path(UNO) / name).write_bytes(b"x")
    lake.age(UNO, 48)
    upkeep_of(at_once)
    later(at_once)
    assert upkeep_of(at_once).deleted == 0
    assert all((lake.path(UNO) / name).exists() for name in names)


def test_a_file_that_cannot_be_joined_is_told_of_and_the_others_are(lake, at_once):
    chess = silver_of("chess")
    lake.create(chess, "chess")
    lake.append(chess, 20)
    lake.append(UNO, 20)
    # Not the newest: a commit whose file is torn is set aside before.
    oldest = min(lake.path(UNO).glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    oldest.write_bytes(b"no parquet")
    done = {upkeep.table: upkeep for upkeep in maintain(at_once, GAMES)}
    assert "magic bytes" in "".join(done[UNO].notes)
    assert done[chess].joined == 20


def test_files_are_watched_anew_after_another_boot(lake, at_once):
    lake.append(UNO)
    (lake.path(UNO) / "part-1.parquet").write_bytes(b"half")
    upkeep_of(at_once)
    file = at_once.state_dir / "unused_files" / "games.json"
    later(at_once)
    file.write_text(file.read_text().replace('"boot": "', '"boot": "other-'))
    assert upkeep_of(at_once).deleted == 0
    later(at_once, wall_s=0)
    assert upkeep_of(at_once).deleted == 1


def test_what_was_noted_and_cannot_be_read_is_noted_anew(lake, at_once):
    lake.append(UNO)
    (lake.path(UNO) / "part-1.parquet").write_bytes(b"half")
    upkeep_of(at_once)
    file = at_once.state_dir / "unused_files" / "games.json"
    file.write_text("torn")
    assert upkeep_of(at_once).deleted == 0
    later(at_once)
    assert upkeep_of(at_once).deleted == 1


def test_a_dry_run_changes_nothing(lake, at_once):
    lake.append(UNO, 30, hours_ago=2)
    before = (lake.log(UNO), lake.data(UNO))
    done = upkeep_of(at_once, dry_run=True)
    assert (done.joined, done.into) == (30, 1)
    assert (lake.log(UNO), lake.data(UNO)) == before
    assert not (at_once.state_dir / "unused_files").exists()


def test_a_tables_own_retention_goes_first(lake, at_once):
    lake.append(UNO, 30)
    DeltaTable(lake.path(UNO)).alter.set_table_properties(
        {"delta.deletedFileRetentionDuration": "interval 2 days"}
    )
    upkeep_of(at_once)
    lake.age(UNO, 47)
    assert upkeep_of(at_once).deleted == 0
    lake.age(UNO, 2)
    assert upkeep_of(at_once).deleted == 30


@pytest.mark.parametrize(
    ("interval", "seconds"), [("interval 7 days", 604_800), ("INTERVAL 30 Minutes", 1800)]
)
def test_durations_are_as_delta_writes_them(interval, seconds):
    assert seconds_of(interval) == seconds


def test_a_duration_that_is_none_is_told(lake, at_once):
    lake.append(UNO, 3)
    folder = lake.path(UNO)
    first = folder / "_delta_log" / f"{0:020}.json"
    first.write_text(
        first.read_text().replace(
            '"configuration": {', '"configuration": {"delta.logRetentionDuration": "a while", '
        )
    )
    assert "is no duration" in "".join(upkeep_of(at_once).notes)


def test_it_is_bounded_in_time(lake, settings):
    lake.append(UNO, 30)
    upkeep = MaintenanceSettings(join_at_files=4, run_minutes=1e-9)
    short = settings.model_copy(update={"maintenance": upkeep})
    done = upkeep_of(short)
    assert (done.joined, done.notes) == (0, ["1 more files to make are left to the next run"])


def test_tables_are_left_to_a_rebuild_that_is_under_way(lake, at_once):
    lake.append(UNO, 30)
    with turn(at_once.state_dir, REDO_TURN):
        done = upkeep_of(at_once)
    assert done.notes == ["left: a requeue, a rebuild or catching up is under way"]
    assert len(lake.data(UNO)) == 30


@pytest.mark.usefixtures("lake")
def test_a_second_one_is_refused(at_once):
    with (
        turn(at_once.state_dir, "maintenance-games"),
        pytest.raises(LakeError, match="maintained by another process"),
    ):
        maintain(at_once, GAMES)


@pytest.mark.usefixtures("lake")
def test_a_key_that_is_none_is_refused(at_once):
    with pytest.raises(FeedError, match="has no key 'nope'"):
        maintain(at_once, GAMES, keys=["nope"])


def test_only_a_keys_tables_are_maintained_if_it_is_named(lake, at_once):
    chess = silver_of("chess")
    lake.create(chess, "chess")
    lake.append(chess, 20)
    lake.append(UNO, 20)
    assert [upkeep.table for upkeep in maintain(at_once, GAMES, keys=["chess"])] == [chess]
    assert len(DeltaTable(lake.path(UNO)).file_uris()) == 20


def test_a_table_whose_features_forbid_it_is_left_as_it_is(lake, at_once):
    lake.append(UNO, 5)
    for checkpoint in (lake.path(UNO) / "_delta_log").glob("*checkpoint*"):
        checkpoint.unlink()
    first = lake.path(UNO) / "_delta_log" / f"{0:020}.json"
    first.write_text(
        first.read_text()
        .replace(
            '"minReaderVersion": 1, "minWriterVersion": 2',
            '"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["columnMapping"], '
            '"writerFeatures": ["columnMapping"]',
        )
        .replace('"configuration": {', '"configuration": {"delta.columnMapping.mode": "name", ')
    )
    done = upkeep_of(at_once)
    assert "columnMapping" in "".join(done.notes)
    assert done.joined == 0


def test_an_append_only_table_is_joined(lake, at_once):
    lake.append(UNO, 10)
    DeltaTable(lake.path(UNO)).alter.set_table_properties({"delta.appendOnly": "true"})
    assert upkeep_of(at_once).joined == 10
    assert lake.numbers(UNO) == list(range(1, 11))


def test_a_gold_table_is_not_joined_and_its_old_files_go(lake, at_once):
    gold = GAMES.gold_table(GAMES.gold[0], "uno")
    lake.create(gold, "uno")
    for number in range(20):
        write_deltalake(
            lake.path(gold),
            pa.table({"n": [number], "text": ["x"]}, schema=SCHEMA),
            mode="overwrite",
        )
    lake.age(gold, 2)
    done = upkeep_of(at_once, gold)
    assert (done.joined, done.deleted) == (0, 19)
    assert lake.numbers(gold) == [19]


def test_a_file_that_others_rewrote_meanwhile_is_left_to_them(lake, at_once, monkeypatch):
    lake.append(UNO, 10)
    real = compaction.join_files

    def late(committer, table, files, *by):
        DeltaTable(lake.path(UNO)).delete("n = 3")
        return real(committer, table, files, *by)

    monkeypatch.setattr("lake_assets.maintenance.run.join_files", late)
    done = upkeep_of(at_once)
    assert done.notes == ["10 files were left: others changed them meanwhile"]
    assert lake.numbers(UNO) == [n for n in range(1, 11) if n != 3]
    left = lake.data(UNO) - {
        uri.rpartition("/")[2] for uri in DeltaTable(lake.path(UNO)).file_uris()
    }
    assert len(left) == 1  # the deleted row's; the one that was to be joined is gone again
