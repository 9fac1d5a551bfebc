import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake import Field as DeltaField

from lake_assets.delta.added_files import gained_between
from lake_assets.delta.commit import WIDENED
from lake_assets_tests.table_logs import local_log


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "a table"
    write_deltalake(folder, pa.table({"n": [1, 2]}))
    return folder


def append(folder, *numbers):
    write_deltalake(folder, pa.table({"n": list(numbers)}), mode="append")


def version(folder):
    return DeltaTable(folder).version()


def read(folder, found):
    tables = [pq.read_table(folder / file.path) for file in found.files]
    return sorted(n for one in tables for n in one["n"].to_pylist())


def test_appended_rows_are_gained(table):
    append(table, 3)
    append(table, 4, 5)
    found = gained_between(local_log(table), 0, 2)
    assert (read(table, found), found.rows, found.obstacle) == ([3, 4, 5], 3, "")


def test_only_versions_in_between_count(table):
    append(table, 3)
    append(table, 4)
    append(table, 5)
    assert read(table, gained_between(local_log(table), 1, 2)) == [4]


def test_nothing_is_gained_at_the_same_version(table):
    assert gained_between(local_log(table), 0, 0).files == ()


def test_a_compaction_gains_nothing_and_hides_nothing(table):
    append(table, 3)
    DeltaTable(table).optimize.compact()
    append(table, 4)
    found = gained_between(local_log(table), 0, version(table))
    assert (read(table, found), found.obstacle) == ([3, 4], "")
    assert gained_between(local_log(table), 1, 2).files == ()


def test_files_that_vacuum_deleted_are_an_obstacle(table):
    append(table, 3)
    DeltaTable(table).optimize.compact()
    DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert "vacuum" in gained_between(local_log(table), 0, version(table)).obstacle
    assert gained_between(local_log(table), 1, version(table)).obstacle == ""


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: DeltaTable(folder).delete("n = 1"),
        lambda folder: write_deltalake(folder, pa.table({"n": [1]}), mode="overwrite"),
        lambda folder: DeltaTable(folder).update({"n": "9"}, predicate="n = 2"),
    ],
)
def test_rows_that_leave_are_an_obstacle(table, change):
    append(table, 3)
    change(table)
    assert (
        gained_between(local_log(table), 0, 2).obstacle
        == "rows left silver or changed in its version 2"
    )


def test_a_new_column_alone_gains_nothing(table):
    DeltaTable(table).alter.add_columns([DeltaField("m", "long")])
    found = gained_between(local_log(table), 0, 1)
    assert (found.files, found.obstacle) == ((), "")


def test_a_log_that_forgot_is_an_obstacle(table):
    append(table, 3)
    append(table, 4)
    DeltaTable(table).create_checkpoint()
    (table / "_delta_log" / f"{1:020}.json").unlink()
    assert (
        gained_between(local_log(table), 0, 2).obstacle == "silver's log has no version 1 any more"
    )
    assert read(table, gained_between(local_log(table), 1, 2)) == [4]


def test_a_path_is_written_in_the_log_as_in_an_address(table):
    append(table, 3)
    log = table / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    (added,) = (one["add"] for one in actions if "add" in one)
    (table / added["path"]).rename(table / "odd name.parquet")
    added["path"] = "odd%20name.parquet"
    log.write_text("\n".join(json.dumps(one, separators=(",", ":")) for one in actions))
    assert read(table, gained_between(local_log(table), 0, 1)) == [3]


def test_files_of_others_that_lack_their_partition_columns_are_an_obstacle(tmp_path):
    folder = tmp_path / "split"
    write_deltalake(folder, pa.table({"n": [1], "p": ["x"]}), partition_by=["p"])
    append_to = pa.table({"n": [2], "p": ["y"]})
    write_deltalake(folder, append_to, mode="append")
    assert "without its partition columns" in gained_between(local_log(folder), 0, 1).obstacle
    # Whoever rearranges rows that are known brings none.
    DeltaTable(folder).optimize.compact()
    assert gained_between(local_log(folder), 1, version(folder)).obstacle == ""


def test_files_rewritten_for_columns_that_nobody_reads_gain_nothing(table):
    append(table, 3)
    rewrite(table, "other, another")
    append(table, 4)
    log, upto = local_log(table), version(table)
    found = gained_between(log, 0, upto, lambda column: column == "n")
    assert (read(table, found), found.obstacle) == ([3, 4], "")
    assert "changed in its version 2" in gained_between(log, 0, upto).obstacle
    reads_another = gained_between(log, 0, upto, lambda column: column == "another")
    assert "changed in its version 2" in reads_another.obstacle


def rewrite(folder, columns):
    write_deltalake(
        folder,
        DeltaTable(folder).to_pyarrow_table(),
        mode="overwrite",
        commit_properties=CommitProperties(custom_metadata={WIDENED: columns}),
    )
