import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.increments import Point, next_increment
from lake_assets.delta.source_offsets import begin_info, offset_transactions
from lake_assets.model.origins import NamedSource
from lake_assets.model.tables import Layer, TableRef
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.table_logs import local_log

TABLE = TableRef(layer=Layer.BRONZE, name="bronze_games")
ROWS = pa.schema([("n", pa.int64())])


@pytest.fixture
def folder(tmp_path):
    return tmp_path / TABLE.relative


@pytest.fixture
def append(committer, land):
    """Appends rows, and records that many of partition 0."""
    sent = []
    committer.create({TABLE: ROWS})

    def add(*values):
        before = {("t", 0): len(sent)} if sent else {}
        sent.extend(values)
        commit = land(TABLE, pa.table({"n": list(values)}, ROWS))
        marks = offset_transactions("kafka", {("t", 0): len(sent)}, before)
        info = begin_info({("t", 0): len(sent)}, before)
        whole = Commit(table=TABLE, files=commit.files, info=info, transactions=marks)
        committer.append([whole], Batch("ingest", len(sent)))
        return commit.files[0]

    return add


SOURCE = NamedSource(kind="kafka", name="t", origin=KAFKA)


def after(folder, point=Point(), max_bytes=2**40, taken=()):  # noqa: B008 - it is frozen
    return next_increment(
        local_log(folder), [SOURCE], point, taken=dict(taken), max_bytes=max_bytes
    )


def test_what_was_appended_since_a_point_is_told_with_its_offsets(folder, append):
    append(1)
    first = after(folder)
    assert (first.until.version, first.is_exact, first.offsets) == (1, True, {("t", 0): 1})
    file = append(2, 3)
    second = after(folder, first.until)
    assert [one.path for one in second.files] == [file.path]
    assert (second.until.version, second.offsets) == (2, {("t", 0): 3})
    assert after(folder, second.until) is None


def test_an_increment_ends_with_the_version_that_fills_it(folder, append):
    files = [append(number) for number in range(5)]
    found = after(folder, max_bytes=files[0].size + 1)
    assert (found.until.version, len(found.files)) == (2, 2)
    assert after(folder, found.until, max_bytes=1).until.version == 3


def test_a_compaction_of_what_is_known_brings_nothing(folder, append):
    append(1)
    append(2)
    known = after(folder).until
    DeltaTable(folder).optimize.compact()
    found = after(folder, known)
    assert (found.files, found.is_exact) == ((), True)


def test_files_that_were_compacted_before_they_were_read_come_with_older_rows(folder, append):
    append(1)
    known = after(folder).until
    append(2)
    DeltaTable(folder).optimize.compact()
    found = after(folder, known)
    (joined,) = DeltaTable(folder).file_uris()
    assert [folder / one.path for one in found.files] == [folder / joined.rsplit("/", 1)[1]]
    assert not found.is_exact


def test_rows_that_were_deleted_before_they_were_read_do_not_come(folder, append):
    append(1, 2, 3)
    known = after(folder).until
    append(4, 5)
    DeltaTable(folder).delete("n = 1 or n = 4")
    found = after(folder, known)
    tables = [pq.read_table(folder / one.path) for one in found.files]
    values = sorted(pa.concat_tables(tables)["n"].to_pylist())
    assert (values, found.is_exact) == ([2, 3, 5], False)


def test_a_table_put_back_from_a_copy_is_told_whole(folder, append, tmp_path, committer):
    append(1)
    committer.settle()
    shutil.copytree(folder, tmp_path / "kept")
    append(2)
    committer.settle()
    known = after(folder).until
    shutil.rmtree(folder)
    (tmp_path / "kept").rename(folder)
    found = after(folder, known)
    assert (len(found.files), found.is_exact, found.until.version) == (1, False, 1)
    assert found.offsets == {("t", 0): 1}


def test_another_commit_of_the_same_version_is_noticed(folder, append):
    append(1)
    found = after(folder, Point(version=1, digest="another's"))
    assert (len(found.files), found.is_exact) == (1, False)


def test_a_log_whose_beginning_was_swept_is_read_from_its_checkpoint(folder, append, committer):
    for number in range(3):
        append(number)
    committer.settle()  # checkpoints are written beside the commits
    handle = DeltaTable(folder)
    handle.create_checkpoint()
    (folder / "_delta_log" / f"{1:020}.json").unlink()
    found = after(folder, Point(version=0))
    assert (len(found.files), found.is_exact, found.offsets) == (3, False, {("t", 0): 3})


def test_rows_that_were_taken_before_may_come_again(folder, append):
    append(1)
    known = after(folder).until
    append(2)
    for end, is_exact in ((1, True), (2, False)):
        assert after(folder, known, taken={("t", 0): end}).is_exact is is_exact


def test_rows_of_a_commit_that_does_not_tell_where_they_begin_may_be_known(folder, append):
    append(1)
    known = after(folder).until
    write_deltalake(folder, pa.table({"n": [2]}, ROWS), mode="append")
    found = after(folder, known)
    assert (len(found.files), found.is_exact) == (1, False)


def test_a_table_that_was_restored_is_as_far_as_it_was_then(folder, append):
    append(1)
    append(2)
    DeltaTable(folder).restore(1)
    found = after(folder, Point(version=2, digest="another's"))
    assert found.offsets == {("t", 0): 1}
