"""Joining files beside others: who comes second must not bring rows back, or keep them twice."""

from collections import Counter
from itertools import permutations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import COMPACTED, join_files, joinable_files
from lake_assets.delta.conflicts import ensure_seen
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import last_info
from lake_assets.delta.relayout import lay_out
from lake_assets.errors import CommitConflictError
from lake_assets.model.layouts import partition_columns
from lake_assets_tests.maintenance.lakes import SCHEMA, WrittenLake
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")


@pytest.fixture
def lake(settings):
    made = WrittenLake(settings, "games")
    made.create(UNO, "uno")
    made.append(UNO, 6)
    yield made
    made.committer.close()


@pytest.fixture
def in_between(lake, monkeypatch):
    """What another engine does after a commit of ours has looked, and before it is made."""

    def happens(act):
        left = [act]

        def look(handle, commit):
            ensure_seen(handle, commit)
            if left:
                left.pop()(DeltaTable(lake.path(UNO)))

        monkeypatch.setattr("lake_assets.delta.deltalake_writer.ensure_seen", look)

    return happens


def files_of(lake):
    return [file for file, _ in joinable_files(lake.committer, UNO)]


def join_all(lake):
    """As another process does."""
    other = lake.committer.independent()
    assert join_files(other, UNO, files_of(lake))
    other.close()


def test_files_become_one_and_the_commit_says_that_no_row_changed(lake):
    assert join_files(lake.committer, UNO, files_of(lake))
    handle = DeltaTable(lake.path(UNO))
    assert len(handle.file_uris()) == 1
    assert last_info(handle)[COMPACTED] == "6"
    changes = pa.table(handle.get_add_actions())["num_records"].to_pylist()
    assert (changes, lake.numbers(UNO)) == ([6], [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize(
    ("act", "joined", "left"),
    [
        (lambda table: table.optimize.compact(), False, [1, 2, 3, 4, 5, 6]),
        (lambda table: table.delete("n = 2"), False, [1, 3, 4, 5, 6]),
        (
            lambda table: write_deltalake(
                table, pa.table({"n": [7], "text": ["y"]}, schema=SCHEMA), mode="append"
            ),
            True,
            [1, 2, 3, 4, 5, 6, 7],
        ),
    ],
    ids=["optimize", "delete", "append"],
)
def test_whatever_comes_in_between_each_row_is_there_once(lake, in_between, act, joined, left):
    files = files_of(lake)
    in_between(act)
    assert join_files(lake.committer, UNO, files) is joined
    assert lake.numbers(UNO) == left


LAYOUTS = [partition_columns(by) for by in ({}, {"text": "text"}, {"n": "n"})]


@pytest.mark.parametrize("is_late", [False, True], ids=["before it reads", "before its commit"])
@pytest.mark.parametrize(("before", "after"), [*permutations(LAYOUTS, 2)])
def test_files_of_a_former_layout_are_left_as_they_are(lake, monkeypatch, before, after, is_late):
    """With nothing left of the joined one, and no word of the layout, which is nobody's fault."""
    lay_out(lake.committer, UNO, before)
    files, left, go = files_of(lake)[:2], [after], Committer.replace_files

    def late(committer, commits):
        while left:
            lay_out(lake.committer, UNO, left.pop())
        go(committer, commits)

    if is_late:
        monkeypatch.setattr(Committer, "replace_files", late)
    else:
        lay_out(lake.committer, UNO, left.pop())
    other = lake.committer.independent()
    assert not join_files(other, UNO, files)
    other.close()
    assert not left
    assert lake.numbers(UNO) == [1, 2, 3, 4, 5, 6]
    named = {file.path for file in [*files_of(lake), *removed_files(lake)]}
    assert lake.data(UNO) == named


def removed_files(lake):
    """All that were in a version before."""
    newest = DeltaTable(lake.path(UNO)).version()
    return [f for v in range(newest) for f in active_files(DeltaTable(lake.path(UNO), version=v))]


def test_rows_that_are_moved_while_files_are_joined_are_not_there_twice(lake, in_between):
    """As a requeue removes some: deltalake would let that pass, and the joined file keep them."""
    old = active_files(DeltaTable(lake.path(UNO)))
    new = lake.file(UNO, pa.table({"n": [100], "text": ["z"]}, schema=SCHEMA))
    commit = Commit(table=UNO, files=[new], removed=old)
    in_between(lambda _: join_all(lake))
    with pytest.raises(CommitConflictError):
        lake.committer.append([commit], Batch("redo", 1))
    assert lake.numbers(UNO) == [1, 2, 3, 4, 5, 6]


def test_a_table_that_is_replaced_while_files_are_joined_has_the_new_rows_alone(lake, in_between):
    new = lake.file(UNO, pa.table({"n": [100], "text": ["z"]}, schema=SCHEMA))
    in_between(lambda _: join_all(lake))
    with pytest.raises(CommitConflictError):
        lake.committer.replace([Commit(table=UNO, files=[new])], SCHEMA)
    lake.committer.replace([Commit(table=UNO, files=[new])], SCHEMA)
    assert lake.numbers(UNO) == [100]


def test_values_are_what_they_were(lake, settings):
    """Columns and fields that came later, in another order, and partitions of odd names."""
    odd = silver_of("odd")
    folder = settings.lake_dir / odd.relative
    rows = [
        {"p": ["a b"], "s": [{"x": 1}]},
        {"p": ["a b"], "s": [{"x": 2, "y": "q"}], "late": [1.5]},
        {"late": [float("-inf")], "s": [None], "p": ["a b"]},
        {"p": ["100%/é"], "s": [{"x": 3, "y": None}]},
        {"p": ["100%/é"], "s": [{"x": 4, "y": None}]},
        {"p": pa.array([None], pa.string()), "s": [{"x": 5, "y": None}]},
    ]
    for row in rows:
        how = {"schema_mode": "merge"} if folder.exists() else {"partition_by": ["p"]}
        write_deltalake(folder, pa.table(row), mode="append", **how)

    def contents():
        return Counter(map(repr, DeltaTable(folder).to_pyarrow_table().to_pylist()))

    before = contents()
    files = [file for file, _ in joinable_files(lake.committer, odd)]
    for value in ("a b", "100%/é"):
        own = [file for file in files if file.partition["p"] == value]
        assert join_files(lake.committer, odd, own)
    assert contents() == before
    assert len(DeltaTable(folder).file_uris()) == 3


def test_a_table_of_binary_partitions_is_left(lake, settings):
    odd = silver_of("odd")
    for _ in range(2):
        rows = pa.table({"p": pa.array([b"\x01\xff"]), "n": [1]})
        folder = settings.lake_dir / odd.relative
        write_deltalake(folder, rows, mode="append", partition_by=["p"])
    assert joinable_files(lake.committer, odd) == []


def test_rows_are_sorted_by_the_columns_that_a_table_has(lake):
    assert join_files(lake.committer, UNO, files_of(lake), ["none"])
    for number in (9, 7, 8):
        row = pa.table({"n": [number], "text": [None if number == 8 else "x"]}, schema=SCHEMA)
        commit = Commit(table=UNO, files=[lake.file(UNO, row)])
        lake.committer.append([commit], Batch(f"other {number}", 1))
    other = pa.schema([*SCHEMA, ("more", pa.int64())])
    lake.committer.add_columns({UNO: other})
    assert join_files(lake.committer, UNO, files_of(lake), ["more", "text", "n"])
    (uri,) = DeltaTable(lake.path(UNO)).file_uris()
    rows = pq.read_table(uri)
    assert rows["n"].to_pylist() == [1, 2, 3, 4, 5, 6, 7, 9, 8]
    assert rows["more"].null_count == 9
