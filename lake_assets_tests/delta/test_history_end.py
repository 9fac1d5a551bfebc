"""What is left of erased rows in a table: nothing, on a disk and in a bucket."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import join_files
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.history_end import end_history
from lake_assets.delta.increments import Point, next_increment
from lake_assets.delta.log_history import is_done
from lake_assets.delta.log_tail import actions_of, newest_version
from lake_assets.delta.table_log import log_of
from lake_assets.model.origins import NamedSource
from lake_assets.parquet.data_file import write_file
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.erasure.bytes_of_everything import files_of, holders, objects_of
from lake_assets_tests.sample import silver_of

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
                changed += told["stats"] != tells["stats"]
                stats = json.loads(told.pop("stats"))
                del stats["minValues"], stats["maxValues"]
                assert json.loads(tells.pop("stats")) == stats
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
    assert sum(file.rows for file in behind.files) == 5
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
