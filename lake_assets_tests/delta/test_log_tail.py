import json

import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.log_checkpoints import CHECKPOINT_EVERY
from lake_assets.delta.log_tail import log_tail_of
from lake_assets_tests.delta.test_append import SCHEMA, rows
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import commit_file, local_log

UNO = silver_of("uno")


@pytest.fixture
def table(tmp_path, committer):
    committer.create({UNO: SCHEMA})
    return tmp_path / UNO.relative


@pytest.fixture
def append(committer, land):
    def add(number):
        committer.append([land(UNO, rows(number), rows="1")], Batch("query", number))

    return add


@pytest.mark.parametrize("commits", [1, 9, 35])
def test_the_newest_commit_is_told_as_the_table_itself_tells_it(table, append, commits):
    for number in range(commits):
        append(number)
    handle, tail = DeltaTable(table), log_tail_of(local_log(table))
    assert (tail.version, tail.table_id) == (handle.version(), str(handle.metadata().id))
    assert (tail.info["rows"], [file.rows for file in tail.added]) == ("1", [1])
    (newest,) = tail.added
    assert newest.path in {uri.rpartition("/")[2] for uri in handle.file_uris()}


def test_a_commit_of_somebody_else_does_not_tell_the_tables_id(table, append):
    append(0)
    append(1)
    DeltaTable(table).optimize.compact()
    tail = log_tail_of(local_log(table))
    assert (tail.version, tail.table_id) == (3, "")


def test_a_log_without_its_first_commits_is_read_from_its_checkpoint_on(committer, table, append):
    for number in range(2 * CHECKPOINT_EVERY):
        append(number)
    committer.settle()  # checkpoints are written beside the commits
    newest = DeltaTable(table).version()
    noted = json.loads((table / "_delta_log" / "_last_checkpoint").read_text())
    assert CHECKPOINT_EVERY < noted["version"] < newest
    for version in range(noted["version"]):
        commit_file(table, version).unlink()
    assert log_tail_of(local_log(table)).version == newest


@pytest.mark.parametrize("spoil", ["commit", "checkpoint", "all"])
def test_what_cannot_be_read_is_for_deltalake_to_tell(table, append, spoil):
    append(0)
    log = table / "_delta_log"
    if spoil == "commit":
        commit_file(table, 1).write_text("{")
    elif spoil == "checkpoint":
        (log / "_last_checkpoint").write_text(json.dumps({"version": 7}))
    else:
        for file in log.iterdir():
            file.unlink()
    assert log_tail_of(local_log(table)) is None


def test_no_table_has_no_end(tmp_path):
    assert log_tail_of(local_log(tmp_path / "nothing")) is None
