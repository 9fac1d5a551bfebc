from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.widen import widen
from lake_assets.delta.written_columns import columns_misfit, written_for
from lake_assets.errors import ColumnsChangedError
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")

PLAIN = pa.schema([("a", pa.int32()), ("s", pa.struct([("x", pa.int32())]))])

WIDER = pa.schema([("a", pa.int64()), ("s", pa.struct([("x", pa.int32())]))])

MORE = pa.schema([("a", pa.int32()), ("s", pa.struct([("x", pa.int32()), ("y", pa.string())]))])

NESTED = pa.schema([("l", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), pa.float32()))])

ROWS = pa.table({"a": pa.array([1], pa.int32()), "s": pa.array([{"x": 1}], PLAIN.field("s").type)})


@pytest.fixture
def misfit(tmp_path, committer, land):
    def between(table, *files):
        committer.create({UNO: table})
        commit = replace(land(UNO, ROWS), info=written_for(files))
        return columns_misfit(commit, DeltaTable(tmp_path / UNO.relative))

    return between


def test_files_may_lack_columns_and_fields_that_their_table_has(misfit):
    assert misfit(pa.schema([*MORE, pa.field("b", pa.string())]), PLAIN) == ""


@pytest.mark.parametrize(
    ("table", "files", "said"),
    [
        (WIDER, PLAIN, "has its column a as long, and new files of it as integer"),
        (PLAIN, MORE, "has its column s as struct"),
        (pa.schema([PLAIN.field("s")]), PLAIN, "has no column a, and new files of it have"),
        (NESTED, pa.schema([("l", pa.list_(pa.int64()))]), "has its column l as array"),
        (NESTED, pa.schema([("m", pa.map_(pa.string(), pa.float64()))]), "has its column m as map"),
    ],
)
def test_files_of_other_columns_than_their_table_has_are_told(misfit, table, files, said):
    assert said in misfit(table, files)


def test_all_of_several_kinds_of_files_are_looked_at(misfit):
    assert misfit(PLAIN, PLAIN, PLAIN) == ""
    assert "column a" in misfit(PLAIN, PLAIN, WIDER)


def test_a_commit_that_says_nothing_of_columns_is_not_judged(misfit):
    assert misfit(WIDER) == ""


def test_an_append_to_a_table_that_another_stream_made_wider_is_refused(tmp_path, committer, land):
    committer.create({UNO: PLAIN})

    def add(stream, number):
        commit = replace(land(UNO, ROWS), info=written_for([PLAIN]))
        committer.append([commit], Batch(stream, number))

    for stream in ("one", "two"):
        add(stream, 1)
    widen(committer, {UNO: WIDER})
    wide = pa.table({"a": [1], "s": ROWS["s"]})
    commit = replace(land(UNO, wide), info=written_for([WIDER]))
    committer.append([commit], Batch("two", 2))
    before = DeltaTable(tmp_path / UNO.relative).version()
    with pytest.raises(ColumnsChangedError, match="column a as long, and new files of it as int"):
        add("one", 2)
    assert DeltaTable(tmp_path / UNO.relative).version() == before
