from dataclasses import replace
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import WIDENED, Batch
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files
from lake_assets.delta.renamed_columns import Renames, marked
from lake_assets.delta.widen import DROPPED, drop_columns, widen
from lake_assets.errors import CommitConflictError
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")
FIRST = Batch("query", 1)
DECIMAL = pa.decimal128(20, 0)

NARROW_STRUCT = pa.struct([("x", pa.int32())])
WIDE_STRUCT = pa.struct([("x", pa.int64()), ("y", pa.string())])
NARROW = pa.schema(
    [
        ("i", pa.int32()),
        ("u", pa.int64()),
        ("f", pa.float32()),
        ("s", NARROW_STRUCT),
        ("l", pa.list_(NARROW_STRUCT)),
        ("m", pa.map_(pa.int32(), NARROW_STRUCT)),
        ("t", pa.timestamp("us", tz="UTC")),
    ]
)
WIDE = pa.schema(
    [
        ("new", pa.string()),
        ("i", pa.int64()),
        ("u", DECIMAL),
        ("f", pa.float64()),
        ("s", WIDE_STRUCT),
        ("l", pa.list_(WIDE_STRUCT)),
        ("m", pa.map_(pa.int64(), WIDE_STRUCT)),
    ]
)
ROW = {"i": -5, "u": -(2**63), "f": 0.5, "s": {"x": 1}, "l": [{"x": 2}], "m": [(3, {"x": 4})]}
WIDE_ROW = {
    "i": -5,
    "u": Decimal(-(2**63)),
    "f": 0.5,
    "s": {"x": 1, "y": None},
    "l": [{"x": 2, "y": None}],
    "m": [(3, {"x": 4, "y": None})],
    "t": None,
    "new": None,
}
NOTHING = dict.fromkeys(WIDE_ROW)


@pytest.fixture
def table(committer, land):
    committer.create({UNO: NARROW})
    for batch, row in enumerate((ROW, {})):
        rows = pa.Table.from_pylist([row], NARROW)
        committer.append([land(UNO, rows)], replace(FIRST, version=batch))
    return UNO


def stored(lake):
    rows = DeltaTable(lake / UNO.relative).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: row["i"] is None)


def files(lake):
    return {path.name: path for path in (lake / UNO.relative).glob("*.parquet")}


def test_values_stay_and_types_are_wide(tmp_path, committer, table):
    assert widen(committer, {table: WIDE}) == {table: ["i", "u", "f", "s", "l", "m"]}
    found = pa.schema(DeltaTable(tmp_path / table.relative).schema().to_arrow())
    assert found.names == [*NARROW.names, "new"]
    assert [found.field(name).type for name in WIDE.names] == WIDE.types
    assert stored(tmp_path) == [WIDE_ROW, NOTHING]


def test_the_files_themselves_are_wide(tmp_path, committer, table):
    widen(committer, {table: WIDE})
    for file in active_files(DeltaTable(tmp_path / table.relative)):
        kinds = pq.read_schema(tmp_path / table.relative / file.path)
        assert (kinds.field("i").type, kinds.field("u").type) == (pa.int64(), DECIMAL)


def test_it_is_one_commit_whatever_readers_see(tmp_path, committer, table):
    before = DeltaTable(tmp_path / table.relative).version()
    widen(committer, {table: WIDE})
    found = DeltaTable(tmp_path / table.relative)
    assert found.version() == before + 1
    assert found.history(1)[0][WIDENED] == "i, u, f, s, l, m"
    found.load_as_version(before)
    assert found.to_pyarrow_table().num_rows == 2


def test_tables_stay_readable_by_all_and_keep_their_properties(tmp_path, committer, table):
    widen(committer, {table: WIDE})
    found = DeltaTable(tmp_path / table.relative)
    assert (found.protocol().min_reader_version, found.protocol().min_writer_version) == (1, 2)
    assert found.metadata().configuration == {"delta.checkpointInterval": "40"}
    assert found.metadata().name == table.name


def test_a_batch_is_still_known_as_committed(committer, table):
    widen(committer, {table: WIDE})
    assert committer.fresh(table).transaction_version(FIRST.app_id) == 1


def test_what_is_wide_is_left_alone(tmp_path, committer, table):
    widen(committer, {table: WIDE})
    version = DeltaTable(tmp_path / table.relative).version()
    assert widen(committer, {table: WIDE}) == {}
    assert DeltaTable(tmp_path / table.relative).version() == version


def test_new_columns_and_fields_change_no_file(tmp_path, committer, table):
    more = pa.schema([("s", pa.struct([("x", pa.int32()), ("y", pa.string())])), ("z", pa.int8())])
    before = files(tmp_path)
    assert widen(committer, {table: more}) == {}
    assert files(tmp_path) == before
    assert [row["s"] for row in stored(tmp_path)] == [{"x": 1, "y": None}, None]


def test_an_empty_table_becomes_wide(committer):
    committer.create({UNO: NARROW})
    widen(committer, {UNO: WIDE})
    assert pa.schema(committer.fresh(UNO).schema().to_arrow()).field("i").type == pa.int64()


def test_many_rows_go_through_in_pieces(tmp_path, committer, land, monkeypatch):
    monkeypatch.setattr("lake_assets.delta.widen._ROWS_AT_ONCE", 10)
    rows = pa.table({"i": pa.array(range(35), pa.int32())})
    committer.create({UNO: rows.schema})
    committer.append([land(UNO, rows)], FIRST)
    widen(committer, {UNO: pa.schema([("i", pa.int64())])})
    (file,) = active_files(committer.fresh(UNO))
    footer = pq.read_metadata(tmp_path / UNO.relative / file.path)
    assert (footer.num_rows, footer.num_row_groups, file.rows) == (35, 4, 35)
    actions = pa.table(committer.fresh(UNO).get_add_actions(flatten=True)).to_pylist()
    assert [(one["min.i"], one["max.i"]) for one in actions] == [(0, 34)]


def test_a_death_on_the_way_changes_nothing_and_the_next_try_does_it(tmp_path, committer, table):
    class Dying(Committer):
        def replace(self, *_: object) -> None:
            raise KeyboardInterrupt

    dying = Dying(LocalStore.at(tmp_path), threads=1)
    with pytest.raises(KeyboardInterrupt):
        widen(dying, {table: WIDE})
    dying.close()
    assert stored(tmp_path)[0]["i"] == -5
    assert "new" not in stored(tmp_path)[0]
    widen(committer, {table: WIDE})
    assert stored(tmp_path) == [WIDE_ROW, NOTHING]


def test_rows_that_another_process_adds_meanwhile_are_kept(tmp_path, committer, land, table):
    class Late(Committer):
        """A committer in whose way another process comes once."""

        came = False

        def replace(self, commits, schema, *more):
            if not self.came:
                self.came = True
                row = pa.Table.from_pylist([{"i": 7}], NARROW)
                committer.append([land(UNO, row)], Batch("another", 0))
            super().replace(commits, schema, *more)

    late = Late(LocalStore.at(tmp_path), threads=1)
    widen(late, {table: WIDE})
    late.close()
    assert sorted(row["i"] or 0 for row in stored(tmp_path)) == [-5, 0, 7]
    assert pa.schema(committer.fresh(table).schema().to_arrow()).field("i").type == pa.int64()


def test_a_table_that_never_rests_is_given_up(tmp_path, committer, land, table):
    class Restless(Committer):
        turns = 10

        def replace(self, commits, schema, *more):
            self.turns += 1
            row = pa.Table.from_pylist([{"i": 7}], NARROW)
            committer.append([land(UNO, row)], Batch("another", self.turns))
            super().replace(commits, schema, *more)

    restless = Restless(LocalStore.at(tmp_path), threads=1)
    with pytest.raises(CommitConflictError):
        widen(restless, {table: WIDE})
    restless.close()


def test_a_narrow_file_that_comes_late_is_read_as_wide(tmp_path, committer, land, table):
    """A requeue may commit files that it wrote before the stream widened the table."""
    late = land(table, pa.Table.from_pylist([{"i": 7, "u": 8, "f": 1.5}], NARROW))
    widen(committer, {table: WIDE})
    committer.append([late], Batch("another", 0))
    found = DeltaTable(tmp_path / table.relative)
    row = {**NOTHING, "i": 7, "u": Decimal(8), "f": 1.5}
    assert row in found.to_pyarrow_table().to_pylist()
    with duckdb.connect() as db:
        db.register("silver", found.to_pyarrow_dataset())
        assert db.execute("select sum(i), sum(u), sum(f) from silver").fetchone() == (
            2,
            8 - 2**63,
            2,
        )


@pytest.mark.spark
def test_spark_reads_a_widened_table_with_old_files_and_new(
    tmp_path, committer, land, table, spark
):
    late = land(table, pa.Table.from_pylist([{"i": 7, "u": 8, "s": {"x": 9}}], NARROW))
    widen(committer, {table: WIDE})
    committer.append([late], Batch("another", 0))
    found = spark.read.format("delta").load(str(tmp_path / table.relative))
    rows = {row.i: row.asDict(recursive=True) for row in found.collect()}
    assert rows[-5] | {"m": list(rows[-5]["m"].items())} == WIDE_ROW
    assert (rows[7]["u"], rows[7]["s"]) == (Decimal(8), {"x": 9, "y": None})
    assert dict(found.dtypes)["u"] == "decimal(20,0)"


RENAMED = Renames(now={"i": "number"})
WITH_NUMBER = marked(pa.schema([*NARROW, pa.field("number", pa.int64())]), RENAMED)


def test_values_get_a_columns_newer_name_in_one_commit_and_keep_the_old_one(
    tmp_path, committer, table
):
    before = DeltaTable(tmp_path / table.relative).version()
    assert widen(committer, {table: WITH_NUMBER}, RENAMED) == {table: ["number"]}
    assert [(row["i"], row["number"]) for row in stored(tmp_path)] == [(-5, -5), (None, None)]
    assert DeltaTable(tmp_path / table.relative).version() == before + 1
    assert widen(committer, {table: WITH_NUMBER}, RENAMED) == {}


def test_values_of_an_older_name_that_came_since_are_taken_by_who_may_have_written_them(
    tmp_path, committer, land, table
):
    widen(committer, {table: WITH_NUMBER}, RENAMED)
    committer.append(
        [land(table, pa.Table.from_pylist([{"i": 7}], NARROW))], replace(FIRST, version=9)
    )
    assert widen(committer, {table: WITH_NUMBER}, RENAMED) == {}
    assert widen(committer, {table: WITH_NUMBER}, RENAMED, is_new=True) == {table: ["number"]}
    assert sorted(row["number"] or 0 for row in stored(tmp_path)) == [-5, 0, 7]


def test_a_column_is_dropped_from_the_files_too(tmp_path, committer, table):
    before = DeltaTable(tmp_path / table.relative).version()
    assert drop_columns(committer, table, ["s", "nobody"])
    assert not drop_columns(committer, table, ["s"])
    found = DeltaTable(tmp_path / table.relative)
    assert (found.version(), found.history(1)[0][DROPPED]) == (before + 1, "s")
    assert "s" not in pa.schema(found.schema().to_arrow()).names
    for file in active_files(found):
        assert "s" not in pq.read_schema(tmp_path / table.relative / file.path).names
    committer.add_columns({table: pa.schema([("s", pa.bool_())])})
    assert [row["s"] for row in stored(tmp_path)] == [None, None]
