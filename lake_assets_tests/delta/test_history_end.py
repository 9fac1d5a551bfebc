"""What is left of erased rows in a table: nothing, on a disk and in a bucket."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import join_files
from lake_assets.delta.crash_recovery import recover_after_crash
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.history_end import end_history
from lake_assets.delta.increments import Point, next_increment
from lake_assets.delta.log_history import is_done
from lake_assets.delta.log_tail import actions_of, last_checkpoint, newest_version
from lake_assets.delta.table_log import log_of
from lake_assets.model.origins import NamedSource
from lake_assets.parquet.data_file import write_file
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.erasure.bytes_of_everything import files_of, holders, objects_of
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import local_log

UNO = silver_of("uno")
PERSON, OTHER = "zaphod-é/42", "marvin"
SCHEMA = pa.schema([("n", pa.int64()), ("gamer", pa.string())])
SOURCE = NamedSource(kind="kafka", name="t", origin=KAFKA)
NEVER: Callable = lambda _: {}  # noqa: E731 - no file is in use


@pytest.fixture
def committer(store):
    found = Committer(store, threads=1)
    found.create({UNO: SCHEMA})
    yield found
    found.close()


@pytest.fixture
def log(store):
    return log_of(store, UNO)


@pytest.fixture
def everything(store, request):
    """All files of the lake, read by others."""
    if store.root.is_local:
        return lambda: files_of(store.root.as_path())
    return lambda: objects_of(request.getfixturevalue("s3").url, store.root.bucket)


def rows(*gamers):
    return pa.table({"n": range(len(gamers)), "gamer": gamers}, schema=SCHEMA)


def put(store, log, *gamers):
    return DataFile(**write_file(store, rows(*gamers), log.folder))


def append(committer, log, number, *gamers):
    file = put(committer.store, log, *gamers)
    committer.append([Commit(table=UNO, files=[file])], Batch("stream", number))
    return file


def erase(committer, log):
    """Write the files that have the person anew without, as an erasure does."""
    handle = committer.fresh(UNO)
    old, new = [], []
    for file in active_files(handle):
        found = read_file(log, file)
        kept = found.filter(pa.compute.not_equal(found["gamer"], PERSON))
        if kept.num_rows < found.num_rows:
            old.append(file)
            new.append(DataFile(**write_file(committer.store, kept, log.folder)))
    committer.replace_files([Commit(table=UNO, files=new, removed=old, seen=handle.version())])


def end(committer, log, **more):
    return end_history(log, partial(committer.fresh, UNO), more.pop("in_use", NEVER), **more)


@pytest.fixture
def erased(committer, log):
    """A table with checkpoints before and after the person came, and without the person now."""
    append(committer, log, 1, OTHER)
    committer.fresh(UNO).create_checkpoint()
    append(committer, log, 2, OTHER, PERSON)
    append(committer, log, 3, PERSON, "trillian")
    committer.fresh(UNO).create_checkpoint()
    join_files(committer, UNO, active_files(committer.fresh(UNO)))
    append(committer, log, 4, "ford")
    erase(committer, log)
    return committer


def test_nothing_tells_of_older_versions(erased, log, everything):
    assert holders(everything(), PERSON)
    before = newest_version(log)
    done = end(erased, log)
    assert (done.version, done.left) == (before, ())
    assert done.files == 4
    assert holders(everything(), PERSON) == []
    gamers = log.open().to_pyarrow_table()["gamer"].to_pylist()
    assert sorted(gamers) == ["ford", OTHER, OTHER, "trillian"]
    again = end(erased, log)
    assert (again.files, again.log_files, again.left) == (0, 0, ())


def test_commits_say_what_they_said_but_for_values(erased, log):
    before = {v: list(actions_of(log, v)) for v in range(newest_version(log) + 1)}
    digests = {v: commit_digest(log, v) for v in before}
    end(erased, log)
    assert {v: commit_digest(log, v) for v in before} == digests
    used = {file.path for file in active_files(log.open())}
    changed = 0
    for version, old in before.items():
        for (kind, told), (now, tells) in zip(old, actions_of(log, version), strict=True):
            assert now == kind
            tells.pop("lake_assets.commit_digest", "")
            if kind == "add" and told["path"] not in used:
                stats = json.loads(told.pop("stats"))
                del stats["minValues"], stats["maxValues"]
                assert json.loads(tells.pop("stats")) == stats
                changed += 1
            assert tells == told
    assert changed == 4


def test_whoever_follows_the_table_goes_on(erased, log):
    points = [Point.at(log, version) for version in range(newest_version(log) + 1)]
    committed = partial(
        next_increment, log, [SOURCE], taken={}, max_bytes=2**30, until=newest_version(log)
    )
    end(erased, log)
    assert committed(points[-1]) is None
    append(erased, log, 5, "arthur")
    last = next_increment(log, [SOURCE], points[-1], taken={}, max_bytes=2**30)
    assert [file.rows for file in last.files] == [1]
    # One that stands behind finds files gone, and takes all that the table has.
    behind = next_increment(log, [SOURCE], points[2], taken={}, max_bytes=2**30)
    assert not behind.is_exact
    active = active_files(erased.fresh(UNO))
    assert {file.path for file in behind.files} == {file.path for file in active}
    assert is_done(erased.fresh(UNO), Batch("stream", 3))
    assert not is_done(erased.fresh(UNO), Batch("stream", 6))


def test_versions_can_be_opened_for_what_they_record(erased, log):
    end(erased, log)
    for version in range(newest_version(log) + 1):
        numbers = log.open(version).transaction_version("stream")
        assert numbers == {0: None, 1: 1, 2: 2}.get(version, 3 if version < 5 else 4)


def test_a_log_that_begins_with_a_checkpoint_is_written_again(erased, log, everything):
    for version in range(3):
        log.store.delete(log.commit_file(version))
    end(erased, log)
    assert holders(everything(), PERSON) == []
    assert log.open(3).version() == 3
    assert log.open(3).transaction_version("stream") == 3
    assert log.open().to_pyarrow_table().num_rows == 4


def test_a_run_that_is_cut_off_is_done_again(erased, log, everything, monkeypatch):
    """After each change to the store there is."""
    left, runs = [0], 0
    writing, deleting = type(log.store).open_for_writing, type(log.store).delete

    def cut(call):
        def one(store, file, **more):
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= store.stat(file) is not None
            return call(store, file, **more)

        return one

    monkeypatch.setattr(type(log.store), "open_for_writing", cut(writing))
    monkeypatch.setattr(type(log.store), "delete", cut(deleting))
    done = None
    while done is None:
        left[0] = 1
        with suppress(KeyboardInterrupt):
            done = end(erased, log)
        assert log.open().to_pyarrow_table().num_rows == 4
        runs += 1
    assert runs > 5
    assert done.left == ()
    assert holders(everything(), PERSON) == []


def test_files_that_may_be_a_running_batchs_are_left_and_told(erased, log, everything):
    waiting = put(log.store, log, PERSON)
    done = end(erased, log, in_use=lambda old: {f.path: "why" for f in old if not f.is_named})
    assert [(left.path, left.why) for left in done.left] == [(waiting.path, "why")]
    assert holders(everything(), PERSON) == [n for n, _ in everything() if waiting.path in n]
    erased.append([Commit(table=UNO, files=[waiting])], Batch("stream", 9))
    assert end(erased, log).files == 0
    assert log.open().to_pyarrow_table().num_rows == 5


def test_what_is_committed_while_history_ends_stays(erased, log):
    """A batch that was written before; and a compaction, of files that were active."""
    waiting = put(log.store, log, "late")

    def meanwhile(old):
        assert waiting.path in {file.path for file in old}
        erased.append([Commit(table=UNO, files=[waiting])], Batch("stream", 9))
        join_files(erased, UNO, active_files(erased.fresh(UNO)))
        return {}

    end(erased, log, in_use=meanwhile)
    assert log.open().to_pyarrow_table().num_rows == 5
    assert len(active_files(log.open())) == 1
    end(erased, log)
    assert log.open().to_pyarrow_table().num_rows == 5


def test_what_a_batch_commits_meanwhile_is_not_left_to_do(erased, log):
    file = put(erased.store, log, OTHER)

    def commit(files):
        assert file.path in {one.path for one in files}
        erased.append([Commit(table=UNO, files=[file])], Batch("stream", 99))
        return {file.path: "a running batch's"}

    assert end(erased, log, in_use=commit).left == ()


def test_a_table_put_back_meanwhile_keeps_the_files_it_names_again(erased, log):
    old = active_files(log.open(3))

    def put_back(_):
        log.open().restore(3, ignore_missing_files=False)
        return {}

    end(erased, log, in_use=put_back)
    assert {file.path for file in active_files(log.open())} == {file.path for file in old}
    assert log.open().to_pyarrow_table().num_rows == 5


def test_recovery_finds_nothing_torn(erased, log, tmp_path):
    end(erased, log)
    assert recover_after_crash(log.store, tmp_path / "state", "boot") == []


class TestWhatOtherEnginesLeave:
    """On a disk: what they write is the same in a bucket."""

    @pytest.fixture
    def folder(self, tmp_path):
        return tmp_path / "table"

    @pytest.fixture
    def other(self, folder):
        """A table that deltalake wrote alone, with a condition that names the person."""
        properties = {"delta.enableChangeDataFeed": "true"}
        for gamers in ([OTHER, PERSON], [OTHER], [PERSON]):
            write_deltalake(folder, rows(*gamers), mode="append", configuration=properties)
        table = DeltaTable(folder)
        table.delete(f"gamer = '{PERSON}'")
        return local_log(folder)

    def ended(self, log, **more):
        return end_history(log, log.open, NEVER, **more)

    def test_conditions_and_rows_of_changes_go(self, other, folder):
        told = holders(files_of(folder), PERSON)
        assert any(name.startswith("_change_data/") for name in told)
        assert f"_delta_log/{3:020}.json" in told
        digest = commit_digest(other, 3)
        assert self.ended(other).left == ()
        assert holders(files_of(folder), PERSON) == []
        assert commit_digest(other, 3) == digest
        assert other.open().history(1)[0]["operation"] == "DELETE"
        assert other.open().to_pyarrow_table()["gamer"].to_pylist() == [OTHER, OTHER]

    def test_checkpoints_with_parsed_statistics_are_written_without(self, other, folder):
        """As Spark writes them, in parts."""
        other.open(2).create_checkpoint()
        whole = folder / "_delta_log" / f"{2:020}.checkpoint.parquet"
        actions = pq.read_table(whole)
        add = actions["add"].combine_chunks()
        bound = pa.struct([("n", pa.int64()), ("gamer", pa.string())])
        parsed = pa.struct([("numRecords", pa.int64()), ("minValues", bound), ("maxValues", bound)])
        told = [
            one and {"numRecords": 1, "minValues": {"n": 0, "gamer": who}, "maxValues": None}
            for one in add.to_pylist()
            for who in [PERSON if one and PERSON in one["stats"] else OTHER]
        ]
        fields = [*add.type, pa.field("stats_parsed", parsed)]
        children = [*(add.field(at) for at in range(len(add.type))), pa.array(told, parsed)]
        add = pa.StructArray.from_arrays(children, fields=fields, mask=add.is_null())
        at = actions.schema.get_field_index("add")
        actions = actions.set_column(at, pa.field("add", add.type), add)
        for part in (1, 2):
            half = actions.slice((part - 1) * 3, 3 if part == 1 else None)
            name = f"{2:020}.checkpoint.{part:010}.{2:010}.parquet"
            pq.write_table(half, whole.with_name(name))
        whole.unlink()
        noted = folder / "_delta_log" / "_last_checkpoint"
        noted.write_text(json.dumps({"version": 2, "size": actions.num_rows, "parts": 2}))
        before = other.open(2).file_uris()
        assert self.ended(other).left == ()
        assert holders(files_of(folder), PERSON) == []
        assert sorted(other.open(2).file_uris()) == sorted(before)
        assert last_checkpoint(other)["version"] == 3

    def test_a_files_statistics_stay_while_the_table_has_it(self, other):
        self.ended(other)
        stats = pa.table(other.open().get_add_actions(flatten=True))
        assert set(stats["min.gamer"].to_pylist()) == {OTHER}

    def test_copies_of_commits_and_checksums_go(self, other, folder):
        log = folder / "_delta_log"
        names = [f"{2:020}.crc", f".{2:020}.json.crc", f"{0:020}.{2:020}.compacted.json"]
        for name in names:
            (log / name).write_text(f'{{"add":{{"path":"x","stats":"{PERSON}"}}}}')
        active = next(folder.glob("*.parquet"))
        self.ended(other)
        assert holders(files_of(folder), PERSON) == []
        assert not any((log / name).exists() for name in names[:2])
        assert active.exists() or active.name not in str(other.open().file_uris())

    def test_checkpoints_of_version_2_go_with_what_they_name(self, other, folder):
        log = folder / "_delta_log"
        (log / "_sidecars").mkdir()
        name = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
        for side in ("one", "two"):
            (log / "_sidecars" / f"{side}.parquet").write_bytes(PERSON.encode())
        other.open().create_checkpoint()
        named = {"sidecar": {"path": "one.parquet", "sizeInBytes": 1, "modificationTime": 1}}
        (log / f"{1:020}.checkpoint.{name}.json").write_text(json.dumps(named))
        # Of the other nobody says whose it is: a checkpoint that is being written names it last.
        lost = "_delta_log/_sidecars/two.parquet"

        def in_use(files):
            return {file.path: "new" for file in files if not file.is_named}

        assert [one.path for one in end_history(other, other.open, in_use).left] == [lost]
        assert holders(files_of(folder), PERSON) == [lost]
        assert other.open().version() == 3
        self.ended(other)
        assert holders(files_of(folder), PERSON) == []

    def test_sidecars_stay_that_a_checkpoint_names_which_stays(self, other, folder):
        log = folder / "_delta_log"
        other.open(1).create_checkpoint()
        (log / f"{0:020}.json").unlink()
        (log / "_sidecars").mkdir()
        (log / "_sidecars" / "one.parquet").write_bytes(b"x")
        named = {"sidecar": {"path": "one.parquet", "sizeInBytes": 1, "modificationTime": 1}}
        name = f"{0:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
        (log / name).write_text(json.dumps(named))
        self.ended(other)
        assert (log / "_sidecars" / "one.parquet").exists()

    def test_what_others_tell_of_files_that_they_remove_is_in_no_checkpoint(self, other, folder):
        other.open(2).create_checkpoint()
        file = folder / "_delta_log" / f"{3:020}.json"
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                action["remove"]["stats"] = json.dumps({"maxValues": {"gamer": PERSON}})
        file.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
        self.ended(other)
        assert (folder / "_delta_log" / f"{3:020}.checkpoint.parquet").exists()
        assert holders(files_of(folder), PERSON) == []

    def test_those_whose_commits_are_forgotten_are_left(self, other, folder):
        other.open(1).create_checkpoint()
        name = f"{1:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet"
        log = folder / "_delta_log"
        (log / f"{1:020}.checkpoint.parquet").rename(log / name)
        (log / f"{0:020}.json").unlink()
        (log / f"{1:020}.json").unlink()
        assert [left.path for left in self.ended(other).left] == [f"_delta_log/{name}"]

    def test_a_table_partitioned_by_the_column_is_told(self, tmp_path):
        folder = tmp_path / "parts"
        write_deltalake(folder, rows(OTHER, PERSON), partition_by=["gamer"])
        DeltaTable(folder).delete("n = 1")
        log = local_log(folder)
        assert self.ended(log, columns=["n"]).left == ()
        (left,) = self.ended(log, columns=["Gamer"]).left
        assert "gamer" in left.why
        assert left.path == "_delta_log"
        assert list(folder.glob("gamer=*/*.parquet"))
        assert len(list(folder.rglob("*.parquet"))) == 1

    @pytest.mark.usefixtures("other")
    def test_a_clones_files_are_left_to_their_table(self, folder, tmp_path):
        clone = tmp_path / "clone"
        shutil.copytree(folder / "_delta_log", clone / "_delta_log")
        for commit in (clone / "_delta_log").glob("*.json"):
            text = commit.read_text().replace('"path":"part', f'"path":"file://{folder}/part')
            commit.write_text(text)
        left = self.ended(local_log(clone)).left
        assert [one.path.startswith("file://") for one in left] == [True]
        assert holders(files_of(clone), PERSON) == []
        assert DeltaTable(folder).to_pyarrow_table().num_rows == 2


def test_rows_that_stay_are_on_the_disk_before_their_old_file_goes(committer, log, monkeypatch):
    """A power cut right after it would take them, too, where the settings let commits wait."""
    old = append(committer, log, 1, PERSON, OTHER)
    new = put(committer.store, log, OTHER)
    change = Commit(table=UNO, files=[new], removed=(old,))
    committer.append([change], Batch("stream", 2))
    done, kind = [], type(committer.store)
    own = {name: getattr(kind, name) for name in ("sync", "delete")}

    def noting(name):
        def note(store, file, *given):
            done.append((name, file))
            return own[name](store, file, *given)

        return note

    for name in own:
        monkeypatch.setattr(kind, name, noting(name))
    end_history(log, partial(committer.fresh, UNO), NEVER)
    gone = done.index(("delete", log.data_file(old.path)))
    assert ("sync", log.data_file(new.path)) in done[:gone]
