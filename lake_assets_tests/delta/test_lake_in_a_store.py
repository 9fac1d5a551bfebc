"""What is done to tables, on a disk and in a bucket: the same functions, the same answers."""

import time

import pyarrow as pa
import pytest

from lake_assets.delta.added_files import gained_between
from lake_assets.delta.catalog import keys_of, tables_of
from lake_assets.delta.change_journal import ChangeJournal, TableChange, TablesChange
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.crash_recovery import recover_after_crash
from lake_assets.delta.data_files import active_files, are_whole, ensure_files_exist
from lake_assets.delta.find_rows import find_rows
from lake_assets.delta.increments import Point, next_increment
from lake_assets.delta.log_history import committed_at, identity, newest_info, open_table, rows_at
from lake_assets.delta.multi_table_change import finish
from lake_assets.delta.offset_range import Range
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.source_offsets import offset_transactions, offsets_of_rows
from lake_assets.delta.table_log import drop_table, log_of
from lake_assets.delta.table_owners import claim, is_copy, is_there, owner_of, owners_in
from lake_assets.delta.widen import drop_columns, widen
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.origins import NamedSource
from lake_assets.model.owners import Owner
from lake_assets.model.tables import Layer, quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.parquet.writer import TABLE, Layout, Target, WritePlan, write_task
from lake_assets.storage.objects import ObjectStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.sample import GAMES, gold_of, silver_of

UNO, POKER, ASIDE = silver_of("uno"), silver_of("poker"), quarantine_of("games")
SCHEMA = pa.schema(
    [("n", pa.int32()), ("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
)
SOURCE = NamedSource(kind="kafka", name="t", origin=KAFKA)


@pytest.fixture
def committer(store):
    found = Committer(store, threads=2)
    found.create({UNO: SCHEMA, ASIDE: SCHEMA}, owners={UNO: Owner(feed="games", key="uno")})
    yield found
    found.close()


def rows_of(*offsets: int) -> pa.Table:
    rows = [{"n": o, "topic": "t", "partition": 0, "offset": o} for o in offsets]
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.fixture
def add(store, committer):
    """Appends rows with these offsets, and gives their file."""

    def append(table, number, *offsets):
        folder = log_of(store, table).folder
        file = DataFile(**write_file(store, rows_of(*offsets), folder))
        marks = offset_transactions("kafka", {("t", 0): max(offsets) + 1}, {})
        commit = Commit(table=table, files=[file], info={"k": "v"}, transactions=marks)
        committer.append([commit], Batch("stream", number))
        return file

    return append


def stored(store, table):
    return sorted(open_table(store, table).to_pyarrow_table()["n"].to_pylist())


def test_tasks_write_files_of_many_tables(store):
    targets = tuple(Target(log_of(store, t).folder, "it", "day=x") for t in (UNO, ASIDE))
    layouts = {"it": Layout(SCHEMA, tuple(SCHEMA.names))}
    plan = WritePlan(store=store, targets=targets, layouts=layouts, buffer_bytes=2**20)
    placed = rows_of(*range(4)).append_column(TABLE, pa.array([0, 1, 0, 1], pa.int32()))
    written = [e for m in write_task(placed.to_batches(), plan) for e in m.to_pylist()]
    for entry, table in zip(written, (UNO, ASIDE), strict=True):
        names = ("path", "size", "rows", "stats")
        file = DataFile(**{name: entry[name] for name in names})
        assert are_whole(log_of(store, table), [file])


def test_the_log_tells_of_versions_times_and_rows(store, add):
    add(UNO, 1, 0, 1)
    file = add(UNO, 2, 2)
    log, handle = log_of(store, UNO), open_table(store, UNO)
    assert identity(store, UNO) == (2, str(handle.metadata().id))
    assert newest_info(store, UNO)["k"] == "v"
    assert committed_at(store, UNO, 2) == pytest.approx(time.time(), abs=60)
    assert committed_at(store, UNO, 3) is None
    assert [rows_at(log, handle, version) for version in (0, 1, 2)] == [0, 2, 3]
    assert gained_between(log, 1, 2).files == (file,)
    (row,) = find_rows(log, handle, {"offset": 2}, ["n"])
    assert (row.row["n"], row.added.version, row.added.is_exact) == (2, 2, True)
    assert row.file == log.data_file(file.path)


def test_a_table_is_followed_and_its_offsets_are_told_after_a_restore(store, add):
    add(UNO, 1, 0, 1)
    log = log_of(store, UNO)
    first = next_increment(log, [SOURCE], Point(), taken={}, max_bytes=2**30)
    add(UNO, 2, 2)
    second = next_increment(log, [SOURCE], first.until, taken={("t", 0): 2}, max_bytes=2**30)
    assert (first.offsets, second.offsets) == ({("t", 0): 2}, {("t", 0): 3})
    handle = open_table(store, UNO)
    assert offsets_of_rows(log, active_files(handle), KAFKA) == {("t", 0): 3}
    handle.restore(1)
    assert held_offsets(log, open_table(store, UNO), [SOURCE]) == {("t", 0): 2}


def test_whose_tables_are_is_recorded_claimed_and_forgotten_with_them(store, committer):
    mine = Owner(feed="games", key="uno")
    assert owner_of(store, UNO) == mine
    committer.create({POKER: SCHEMA})
    assert owners_in(store, Layer.SILVER) == {POKER: None, UNO: mine}
    claim(store, POKER, Owner(feed="games", key="poker"))
    assert owner_of(store, POKER) == Owner(feed="games", key="poker")
    assert not is_copy(store, UNO)
    assert keys_of(store, GAMES) == ("uno", "go_fish")
    drop_table(store, UNO)
    assert (is_there(store, UNO), owner_of(store, UNO)) == (False, None)
    assert tables_of(store, GAMES) == (ASIDE, POKER)
    assert not is_there(store, gold_of("uno", "none"))


def test_columns_become_wider_and_go(store, committer, add):
    add(UNO, 1, 5)
    assert widen(committer, {UNO: pa.schema([("n", pa.int64())])}) == {UNO: ["n"]}
    assert drop_columns(committer, UNO, ["topic"])
    found = open_table(store, UNO).to_pyarrow_table()
    assert found.schema.field("n").type == pa.int64()
    assert found.to_pylist() == [{"n": 5, "partition": 0, "offset": 5}]


def test_a_change_of_two_tables_is_finished_from_its_journal(store, committer, add):
    add(ASIDE, 1, 1, 2, 3)
    log = log_of(store, UNO)
    moved = DataFile(**write_file(store, rows_of(2), log.folder))
    journal = ChangeJournal(store, log_of(store, ASIDE).folder / "_change.json", KAFKA)
    parts = [
        TableChange(table=UNO, files=[moved]),
        TableChange(table=ASIDE, leaving=Range(starts={("t", 0): 2}, ends={("t", 0): 3})),
    ]
    journal.write(TablesChange(batch=Batch("redo", 1), origin=KAFKA, tables=parts))
    assert finish(journal, committer) == {UNO: 0, ASIDE: 1}
    assert journal.read() is None
    assert (stored(store, UNO), stored(store, ASIDE)) == ([2], [1, 3])


def test_a_commit_without_its_file_is_set_aside(store, add, tmp_path):
    add(UNO, 1, 1)
    file = add(UNO, 2, 2)
    state = tmp_path / "state"
    assert recover_after_crash(store, state, "one") == []
    log = log_of(store, UNO)
    ensure_files_exist(UNO, log, [file])
    with store.open_for_writing(log.data_file(file.path)) as stream:
        stream.write(b"PAR1")
    with pytest.raises(LakeError, match="1 of its files are missing or torn"):
        ensure_files_exist(UNO, log, [file])
    store.delete(log.data_file(file.path))
    with pytest.raises(LakeError, match="1 of its files are missing or torn"):
        ensure_files_exist(UNO, log, [file])
    assert recover_after_crash(store, state, "one") == []
    (found,) = recover_after_crash(store, state, "another")
    assert (found.table, found.file) == (UNO, log.commit_file(2).name)
    assert (state / "torn" / UNO.relative / found.file).is_file()
    assert stored(store, UNO) == [1]


def test_a_batch_asks_a_bucket_little_of_tables_that_are_as_it_left_them(moto, bucket):
    """Each answer takes tens of milliseconds, and a batch asks for a thousand tables."""
    store = ObjectStore(LakeUri.parse(f"s3://{bucket}/lake"), moto.options)
    committer = Committer(store, threads=2)
    committer.create({UNO: SCHEMA})
    for number in (1, 2):
        moto.asked()
        file = DataFile(**write_file(store, rows_of(number), log_of(store, UNO).folder))
        commits, batch = [Commit(table=UNO, files=[file])], Batch("stream", number)
        committer.judge(commits, batch)
        committer.append(commits, batch)
    committer.close()
    asked = [(method, path.rpartition("/")[2]) for method, path, *_ in moto.asked()]
    known, new = f"{1:020}.json", f"{2:020}.json"
    assert asked == [
        ("PUT", file.path),
        ("HEAD", new),  # before any table gets the batch
        *(("HEAD", known), ("PUT", new)),
    ]
