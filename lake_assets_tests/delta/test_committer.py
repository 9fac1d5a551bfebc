from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.schema import Field, PrimitiveType

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.committer import Committer
from lake_assets.delta.log_checkpoints import CHECKPOINT_EVERY
from lake_assets.delta.log_history import last_info
from lake_assets.errors import CommitConflictError, LakeError
from lake_assets.model.tables import bronze_of
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import gold_of, silver_of

UNO = silver_of("uno")
GO_FISH = silver_of("go_fish")
SCHEMA = pa.schema([pa.field("a", pa.int64(), nullable=False)])
WIDER = pa.schema([*SCHEMA, pa.field("b", pa.string())])
FIRST = Batch("query", 1)


def rows(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int64())})


def stored(lake, table):
    return sorted(DeltaTable(lake / table.relative).to_pyarrow_table()["a"].to_pylist())


def test_a_created_table_is_empty_and_nullable(tmp_path, committer):
    committer.create({UNO: SCHEMA})
    found = DeltaTable(tmp_path / UNO.relative).to_pyarrow_table()
    assert found.schema == pa.schema([pa.field("a", pa.int64())])
    assert found.num_rows == 0


def test_a_created_table_opens_in_every_delta_reader(tmp_path, committer):
    committer.create({UNO: pa.schema([("at", pa.timestamp("us", tz="UTC")), ("raw", pa.binary())])})
    protocol = DeltaTable(tmp_path / UNO.relative).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    assert (protocol.reader_features, protocol.writer_features) == (None, None)


def test_creating_again_changes_nothing(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(1))], FIRST)
    committer.create({UNO: WIDER})
    assert DeltaTable(tmp_path / UNO.relative).version() == 1


def test_tables_can_be_partitioned(tmp_path, committer):
    bronze = bronze_of("games")
    committer.create({bronze: WIDER}, partition_by={bronze: ["b"]})
    found = DeltaTable(tmp_path / bronze_of("games").relative)
    assert found.metadata().partition_columns == ["b"]


def test_fields_that_structs_lack_are_added_at_any_depth(tmp_path, committer, land):
    def nested(fields):
        struct = pa.struct(fields)
        kinds = {"s": struct, "l": pa.list_(struct), "m": pa.map_(pa.string(), struct)}
        return pa.schema([("a", pa.int64()), *kinds.items()])

    old, new = nested([("x", pa.int32())]), nested([("x", pa.int32()), ("y", pa.string())])
    row = {"a": 1, "s": {"x": 1}, "l": [{"x": 2}], "m": [("k", {"x": 3})]}
    committer.create({UNO: old})
    committer.append([land(UNO, pa.Table.from_pylist([row], old))], FIRST)
    committer.add_columns({UNO: new})
    version = DeltaTable(tmp_path / UNO.relative).version()
    committer.add_columns({UNO: new})
    found = DeltaTable(tmp_path / UNO.relative)
    assert found.version() == version
    assert found.to_pyarrow_table().to_pylist() == [
        {
            "a": 1,
            "s": {"x": 1, "y": None},
            "l": [{"x": 2, "y": None}],
            "m": [("k", {"x": 3, "y": None})],
        }
    ]


def test_a_commit_for_a_version_that_is_no_longer_the_newest_is_refused(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    late = replace(land(UNO, rows(2)), seen=0)
    committer.append([land(UNO, rows(1))], FIRST)
    with pytest.raises(CommitConflictError, match="is no longer at version 0"):
        committer.replace([late], SCHEMA)
    assert stored(tmp_path, UNO) == [1]


def test_the_columns_of_the_tables_that_are_there_are_told(committer):
    committer.create({UNO: WIDER})
    assert committer.columns([UNO, GO_FISH]) == {
        UNO: pa.schema([("a", pa.int64()), WIDER.field("b")])
    }


def test_missing_columns_are_added(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(1))], FIRST)
    committer.add_columns({UNO: WIDER})
    found = DeltaTable(tmp_path / UNO.relative).to_pyarrow_table()
    assert found.to_pylist() == [{"a": 1, "b": None}]


@pytest.mark.parametrize("act", ["rows leave", "another column comes"])
def test_columns_come_beside_whatever_others_do(tmp_path, committer, land, act):
    """As a requeue or retention takes rows out: to deltalake who alters a table has read it all."""
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(1, 2))], FIRST)

    def others():
        handle = DeltaTable(tmp_path / UNO.relative)
        if act == "rows leave":
            handle.delete("a = 1")
        else:
            handle.alter.add_columns([Field("theirs", PrimitiveType("long"))])

    left = [others]

    class Late(Committer):
        def fresh(self, table):
            handle = super().fresh(table)
            while left:
                left.pop()()
            return handle

    late = Late(LocalStore.at(tmp_path), threads=1)
    late.add_columns({UNO: pa.schema([("more", pa.bool_())])})
    late.close()
    assert "more" in committer.columns([UNO])[UNO].names
    assert stored(tmp_path, UNO) == ([2] if act == "rows leave" else [1, 2])


def test_adding_columns_again_commits_nothing(tmp_path, committer):
    committer.create({UNO: SCHEMA})
    committer.add_columns({UNO: WIDER})
    committer.add_columns({UNO: WIDER})
    assert DeltaTable(tmp_path / UNO.relative).version() == 1


def test_columns_are_never_taken_away(tmp_path, committer):
    committer.create({UNO: WIDER})
    committer.add_columns({UNO: SCHEMA})
    assert [f.name for f in DeltaTable(tmp_path / UNO.relative).schema().fields] == ["a", "b"]


def test_comments_of_added_columns_are_kept(tmp_path, committer):
    told = pa.schema([*SCHEMA, pa.field("d", pa.int64(), metadata={"comment": "in us"})])
    committer.create({UNO: SCHEMA})
    committer.add_columns({UNO: told})
    assert DeltaTable(tmp_path / UNO.relative).schema().fields[1].metadata == {"comment": "in us"}


def test_a_batch_is_appended_to_each_of_its_tables(tmp_path, committer, land):
    committer.create({UNO: SCHEMA, GO_FISH: SCHEMA})
    assert committer.append([land(UNO, rows(1, 2)), land(GO_FISH, rows(3))], FIRST) == []
    assert (stored(tmp_path, UNO), stored(tmp_path, GO_FISH)) == ([1, 2], [3])


def test_a_repeated_batch_writes_nothing(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    commit = land(UNO, rows(1))
    committer.append([commit], FIRST)
    assert committer.append([commit], FIRST) == [UNO]
    assert stored(tmp_path, UNO) == [1]


def test_a_repeated_batch_reaches_the_tables_it_missed(tmp_path, committer, land):
    committer.create({UNO: SCHEMA, GO_FISH: SCHEMA})
    commits = [land(UNO, rows(1)), land(GO_FISH, rows(2))]
    committer.append(commits[:1], FIRST)
    assert committer.append(commits, FIRST) == [UNO]
    assert (stored(tmp_path, UNO), stored(tmp_path, GO_FISH)) == ([1], [2])


def test_an_older_batch_writes_nothing(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(2))], Batch("query", 2))
    assert committer.append([land(UNO, rows(1))], FIRST) == [UNO]
    assert stored(tmp_path, UNO) == [2]


def test_another_streams_batch_of_the_same_number_is_another_batch(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(1))], FIRST)
    assert committer.append([land(UNO, rows(2))], Batch("another query", 1)) == []
    assert stored(tmp_path, UNO) == [1, 2]


def test_a_batch_is_known_after_log_checkpoints_too(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    for version in range(25):
        committer.append([land(UNO, rows(version))], Batch("query", version))
    late = Committer(LocalStore.at(tmp_path), threads=1)
    assert late.append([land(UNO, rows(24))], Batch("query", 24)) == [UNO]
    late.close()
    assert stored(tmp_path, UNO) == list(range(25))


def test_the_log_is_checkpointed_every_so_many_commits(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    for version in range(CHECKPOINT_EVERY + 1):
        committer.append([land(UNO, rows(version))], Batch("query", version))
    committer.close()
    log = tmp_path / UNO.relative / "_delta_log"
    assert len(list(log.glob("*.checkpoint.parquet"))) == 1


def test_a_door_sees_what_another_committed(tmp_path, committer, land):
    other = Committer(LocalStore.at(tmp_path), threads=1)
    committer.create({UNO: SCHEMA})
    other.append([land(UNO, rows(1))], FIRST)
    assert committer.append([land(UNO, rows(1))], FIRST) == [UNO]
    other.close()


def test_a_batch_that_another_door_commits_meanwhile_is_a_conflict(tmp_path, committer, land):
    class Overtaken(Committer):
        """Lets the other committer go first, between the look at the table and the commit."""

        def fresh(self, table):
            handle = super().fresh(table)
            committer.append([land(UNO, rows(1))], FIRST)
            return handle

    committer.create({UNO: SCHEMA})
    slow = Overtaken(LocalStore.at(tmp_path), threads=1)
    with pytest.raises(CommitConflictError, match="silver_uno_events: another writer"):
        slow.append([land(UNO, rows(1))], FIRST)
    slow.close()
    assert stored(tmp_path, UNO) == [1]


def test_of_many_doors_that_commit_one_batch_at_once_one_succeeds(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    at_once = Barrier(6)

    def commit(_):
        own = Committer(LocalStore.at(tmp_path), threads=1)
        at_once.wait(timeout=30)
        try:
            return own.append([land(UNO, rows(1))], FIRST) == []
        except CommitConflictError:
            return False
        finally:
            own.close()

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(commit, range(6))) == 1
    assert stored(tmp_path, UNO) == [1]


def test_doors_of_different_streams_append_to_one_table_at_once(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    at_once = Barrier(4)

    def commit(number):
        own = Committer(LocalStore.at(tmp_path), threads=1)
        at_once.wait(timeout=30)
        own.append([land(UNO, rows(number))], Batch(f"query {number}", 0))
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(commit, range(4)))
    assert stored(tmp_path, UNO) == [0, 1, 2, 3]


def test_a_commit_says_what_it_was_told(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(1), rows="1")], FIRST)
    assert DeltaTable(tmp_path / UNO.relative).history(1)[0]["rows"] == "1"


def test_an_append_to_a_missing_table_is_an_error(committer, land):
    with pytest.raises(LakeError, match="there is no such table"):
        committer.append([land(UNO, rows(1))], FIRST)


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(tmp_path, committer):
    (tmp_path / "silver").write_text("a file where a folder must be")
    with pytest.raises(LakeError, match="cannot be listed") as caught:
        committer.create({UNO: SCHEMA})
    assert "\n" not in str(caught.value)


def test_a_log_that_cannot_be_written_is_an_error(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    commit = land(UNO, rows(1))
    log = tmp_path / UNO.relative / "_delta_log"
    # Root may write anywhere, so the next commit's name is taken by a folder instead.
    (log / f"{1:020}.json").mkdir()
    with pytest.raises(LakeError):
        committer.append([commit], FIRST)


def test_rows_are_replaced_in_one_commit(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.replace([land(UNO, rows(1, 2))], SCHEMA)
    committer.replace([land(UNO, rows(3))], SCHEMA)
    assert (stored(tmp_path, UNO), DeltaTable(tmp_path / UNO.relative).version()) == ([3], 2)


def test_rows_are_replaced_by_nothing(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.replace([land(UNO, rows(1))], SCHEMA)
    committer.replace([land(UNO, rows())], SCHEMA)
    assert stored(tmp_path, UNO) == []


def test_columns_are_replaced_with_the_rows(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.replace([land(UNO, rows(1))], SCHEMA)
    full_refresh = pa.table({"a": ["x"], "c": [1.5]})
    committer.replace([land(UNO, full_refresh)], full_refresh.schema)
    found = DeltaTable(tmp_path / UNO.relative)
    assert (found.version(), found.to_pyarrow_table()) == (2, full_refresh)


def test_readers_of_the_old_version_still_see_the_old_rows(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.replace([land(UNO, rows(1))], SCHEMA)
    reader = DeltaTable(tmp_path / UNO.relative)
    committer.replace([land(UNO, rows(2))], SCHEMA)
    assert reader.to_pyarrow_table()["a"].to_pylist() == [1]


def test_files_are_exchanged_for_others_in_one_step(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    kept, gone, new = (land(UNO, rows(number)) for number in (1, 2, 3))
    committer.append([kept], FIRST)
    committer.append([gone], Batch("query", 2))
    version = DeltaTable(tmp_path / UNO.relative).version()
    committer.replace_files([replace(new, removed=gone.files, seen=version)])
    assert stored(tmp_path, UNO) == [1, 3]
    assert DeltaTable(tmp_path / UNO.relative).version() == version + 1


def test_files_are_not_exchanged_in_a_table_that_moved_on(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    with pytest.raises(CommitConflictError, match="no longer at version 3"):
        committer.replace_files([replace(land(UNO, rows(1)), seen=3)])
    assert stored(tmp_path, UNO) == []


def test_a_commit_of_its_metadata_alone_is_a_version(tmp_path, committer):
    committer.create({UNO: SCHEMA})
    committer.replace_files([Commit(table=UNO, files=(), info={"k": "v"}, seen=0)])
    assert last_info(DeltaTable(tmp_path / UNO.relative))["k"] == "v"


def test_only_tables_that_are_there_are_opened(committer):
    committer.create({UNO: SCHEMA})
    found = committer.opened([UNO, gold_of("uno", "player_agg")])
    assert {table: handle.version() for table, handle in found.items()} == {UNO: 0}


def test_a_replaced_table_keeps_its_name_and_properties(tmp_path, committer, land):
    table = gold_of("uno", "player_agg")
    committer.create({table: SCHEMA})
    full_refresh = pa.table({"a": ["x"]})
    committer.replace([land(table, full_refresh)], full_refresh.schema)
    found = DeltaTable(tmp_path / table.relative)
    assert found.metadata().name == "gold_uno_player_agg"
    assert found.metadata().configuration == {"delta.checkpointInterval": "40"}
    assert found.protocol().min_writer_version == 2


def test_one_commit_may_stand_for_several_batches(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append_marked(land(UNO, rows(1, 2)), [Batch("query", 4), Batch("other", 9)])
    found = DeltaTable(tmp_path / UNO.relative)
    assert (found.transaction_version("query"), found.transaction_version("other")) == (4, 9)
    assert committer.append([land(UNO, rows(3))], Batch("query", 4)) == [UNO]
    assert stored(tmp_path, UNO) == [1, 2]


def test_small_files_are_joined_and_later_swept(tmp_path, committer, land):
    committer.create(
        {UNO: SCHEMA}, properties={"delta.deletedFileRetentionDuration": "interval 0 days"}
    )
    for number in range(3):
        committer.append([land(UNO, rows(number))], Batch("query", number))
    committer.compact(UNO)
    found = DeltaTable(tmp_path / UNO.relative)
    assert (len(found.file_uris()), stored(tmp_path, UNO)) == (1, [0, 1, 2])
    committer.vacuum(UNO)
    assert len(list((tmp_path / UNO.relative).glob("*.parquet"))) == 1
    protocol = found.protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)


def test_rows_are_deleted_by_a_condition(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(1, 2, 3))], FIRST)
    committer.delete(UNO, "a < 3")
    assert stored(tmp_path, UNO) == [3]


def test_a_condition_that_does_not_compile_is_our_error(committer):
    committer.create({UNO: SCHEMA})
    with pytest.raises(LakeError):
        committer.delete(UNO, "nothing < 3")
