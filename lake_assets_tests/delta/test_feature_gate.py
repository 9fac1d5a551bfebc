"""Tables that Spark SQL changed, each for real, and what the committer then does with them."""

from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.table_features import Use
from lake_assets.delta.widen import widen
from lake_assets.errors import ConstraintViolatedError, LakeError, TableFeatureError
from lake_assets.spark.table_constraints import ensure_met
from lake_assets.storage.local import LocalStore
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.sample import silver_of

pytestmark = pytest.mark.spark

UNO, GO_FISH = silver_of("uno"), silver_of("go_fish")
SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("s", pa.string())])
MORE = pa.schema([*SCHEMA, ("more", pa.string())])

PROPERTY = "ALTER TABLE {t} SET TBLPROPERTIES ('%s' = '%s')"
DELETED = (PROPERTY % ("delta.enableDeletionVectors", "true"), "DELETE FROM {t} WHERE id = 1")
ADDED = "ALTER TABLE {t} ADD COLUMN g int"
NOT_APPENDED = {
    "columnMapping": (
        PROPERTY % ("delta.columnMapping.mode", "name"),
        "ALTER TABLE {t} RENAME COLUMN s TO other",
    ),
    "typeWidening": (
        PROPERTY % ("delta.enableTypeWidening", "true"),
        "ALTER TABLE {t} ALTER COLUMN n TYPE bigint",
    ),
    "allowColumnDefaults": (
        PROPERTY % ("delta.feature.allowColumnDefaults", "supported"),
        "ALTER TABLE {t} ALTER COLUMN s SET DEFAULT 'y'",
    ),
    "inCommitTimestamp": (PROPERTY % ("delta.enableInCommitTimestamps", "true"),),
    "rowTracking": (PROPERTY % ("delta.enableRowTracking", "true"),),
    "generatedColumns": (
        (
            "CREATE TABLE {t} (id bigint, n int, s string, "
            "g bigint GENERATED ALWAYS AS (id + 1)) USING delta"
        ),
    ),
    "identityColumns": (
        (
            "CREATE TABLE {t} (id bigint, n int, s string, "
            "g bigint GENERATED ALWAYS AS IDENTITY) USING delta"
        ),
    ),
}
WRITTEN = {
    "plain": (),
    "deletionVectors": DELETED[:1],
    "changeDataFeed": (PROPERTY % ("delta.enableChangeDataFeed", "true"),),
    "clustering": ("ALTER TABLE {t} CLUSTER BY (id)",),
    "v2Checkpoint": (PROPERTY % ("delta.checkpointPolicy", "v2"),),
    "vacuumProtocolCheck": (PROPERTY % ("delta.feature.vacuumProtocolCheck", "supported"),),
    "typeWidening": (PROPERTY % ("delta.enableTypeWidening", "true"),),
    "dropped": (
        *NOT_APPENDED["columnMapping"][:1],
        "ALTER TABLE {t} DROP FEATURE columnMapping",
    ),
    "checkConstraints": ("ALTER TABLE {t} ADD CONSTRAINT small CHECK (n < 100)",),
}

RARE = {
    "changeDataFeed",
    "clustering",
    "dropped",
    "rowTracking",
    "v2Checkpoint",
    "vacuumProtocolCheck",
}


@pytest.fixture
def judging(tmp_path, spark):
    found = Committer(
        LocalStore.at(tmp_path), threads=2, check_constraints=partial(ensure_met, spark)
    )
    yield found
    found.close()


def rows(*numbers, **columns):
    given = [{"id": n, "n": n, "s": str(n), **columns} for n in numbers]
    return pa.Table.from_pylist(given, MORE if columns else SCHEMA)


@pytest.fixture
def changed(tmp_path, spark, judging, land):
    """A table with the rows 0 to 3 in two files, changed by Spark SQL while a committer is open."""

    def change(*statements):
        run = [statement.format(t=f"delta.`{tmp_path / UNO.relative}`") for statement in statements]
        if run and run[0].startswith("CREATE"):
            spark.sql(run.pop(0))
        is_ours = len(run) == len(statements)
        judging.create({UNO: SCHEMA, GO_FISH: SCHEMA})
        for number in (0, 1) if is_ours else ():
            commit = land(UNO, rows(2 * number, 2 * number + 1))
            judging.append([commit], Batch("query", number))
        for statement in run:
            spark.sql(statement)
        return tmp_path / UNO.relative

    return change


def version(folder: Path) -> int:
    return DeltaTable(folder).version()


def asked(handle):
    protocol = handle.protocol()
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    return (*versions, *map(set, (protocol.reader_features or (), protocol.writer_features or ())))


def ids(spark, folder):
    return sorted(row.id for row in spark.read.format("delta").load(str(folder)).collect())


@pytest.mark.parametrize("feature", with_long(NOT_APPENDED, long=RARE))
def test_what_an_append_cannot_honour_is_refused_before_any_table_has_the_batch(
    tmp_path, judging, land, changed, feature
):
    folder = changed(*NOT_APPENDED[feature])
    before = version(folder)
    batch = [land(GO_FISH, rows(9)), land(UNO, rows(9))]
    for committer in (judging, Committer(LocalStore.at(tmp_path), threads=1)):
        with pytest.raises(TableFeatureError, match=r"ALTER TABLE|created again") as raised:
            committer.append(batch, Batch("query", 2))
        assert (raised.value.table, raised.value.feature) == (str(folder), feature)
        with pytest.raises(TableFeatureError, match=feature):
            committer.replace([land(UNO, rows(9))], SCHEMA)
        with pytest.raises(TableFeatureError, match=feature):
            committer.add_columns({UNO: MORE})
        with pytest.raises(TableFeatureError, match=feature):
            committer.ensure_usable([UNO], Use.READ, Use.APPEND)
    assert (version(folder), version(tmp_path / GO_FISH.relative)) == (before, 0)


@pytest.mark.parametrize("feature", with_long(WRITTEN, long=RARE))
def test_what_asks_for_nothing_more_is_written_to_and_read_by_spark(
    spark, judging, land, changed, feature
):
    folder = changed(*WRITTEN[feature])
    before = DeltaTable(folder)
    for number in range(2, 14):  # log checkpoints on the way
        judging.append([land(UNO, rows(number + 2))], Batch("query", number))
    judging.settle()
    assert ids(spark, folder) == list(range(16))
    judging.add_columns({UNO: MORE})
    removed = [f for f in active_files(judging.fresh(UNO)) if f.rows == 2]
    commit = land(UNO, rows(2, 3, 16, more="x"))
    kept = Commit(table=UNO, files=[*commit.files, *land(UNO, rows(0, 1)).files], removed=removed)
    judging.append([kept], Batch("redo", 1))
    assert sum(file.rows for file in active_files(judging.fresh(UNO))) == 17
    judging.replace([land(UNO, rows(7, 8))], SCHEMA)
    assert ids(spark, folder) == [7, 8]
    after = DeltaTable(folder)
    assert asked(after) == asked(before)
    assert after.metadata().configuration == before.metadata().configuration
    assert after.metadata().id == before.metadata().id


def test_clustering_columns_outlive_our_commits(spark, judging, land, changed):
    folder = changed(*WRITTEN["clustering"])
    judging.add_columns({UNO: MORE})
    judging.replace([land(UNO, rows(7, 8))], MORE)
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{folder}`").collect()[0]
    assert detail.clusteringColumns == ["id"]
    spark.sql(f"OPTIMIZE delta.`{folder}`")
    assert ids(spark, folder) == [7, 8]


def test_an_append_only_table_is_appended_to_and_never_changed(spark, judging, land, changed):
    folder = changed(PROPERTY % ("delta.appendOnly", "true"))
    judging.append([land(UNO, rows(4))], Batch("query", 2))
    before = version(folder)
    removing = Commit(table=UNO, files=(), removed=active_files(judging.fresh(UNO)))
    wide = pa.schema([("n", pa.int64())])
    for change in (
        lambda: judging.append([removing], Batch("redo", 1)),
        lambda: judging.replace([land(UNO, rows(9))], SCHEMA),
        lambda: judging.replace_files([removing]),
        lambda: judging.delete(UNO, "id = 1"),
        lambda: widen(judging, {UNO: wide}),
    ):
        with pytest.raises(TableFeatureError, match=r"appendOnly.*'delta.appendOnly' = 'false'"):
            change()
    assert version(folder) == before
    assert ids(spark, folder) == [0, 1, 2, 3, 4]


def test_rows_that_violate_a_check_are_not_committed_nor_the_others_of_their_batch(
    tmp_path, spark, judging, land, changed
):
    folder = changed(*WRITTEN["checkConstraints"])
    before = version(folder)
    batch = [land(GO_FISH, rows(9)), land(UNO, rows(4, 100))]
    for _ in range(2):
        with pytest.raises(ConstraintViolatedError, match="action: quarantine") as raised:
            judging.append(batch, Batch("query", 2))
        assert (raised.value.table, raised.value.constraint) == (str(folder), "small")
        assert "1 new rows violate its constraint 'small' (n < 100)" in str(raised.value)
    with pytest.raises(ConstraintViolatedError):
        judging.replace([land(UNO, rows(100))], SCHEMA)
    assert (version(folder), version(tmp_path / GO_FISH.relative)) == (before, 0)
    spark.sql(f"ALTER TABLE delta.`{folder}` DROP CONSTRAINT small")
    judging.append(batch, Batch("query", 2))
    assert ids(spark, folder) == [0, 1, 2, 3, 4, 100]


def test_a_row_of_which_a_check_cannot_tell_violates_it(judging, land, changed):
    changed(*WRITTEN["checkConstraints"])
    with pytest.raises(ConstraintViolatedError, match="small"):
        judging.append([land(UNO, pa.table({"id": [5]}))], Batch("query", 2))


def test_columns_that_are_never_null_stay_so(spark, judging, land, changed):
    folder = changed("CREATE TABLE {t} (id bigint NOT NULL, n int, s string) USING delta")
    with pytest.raises(ConstraintViolatedError, match="NOT NULL of id"):
        judging.append([land(UNO, pa.table({"n": pa.array([5], pa.int32())}))], Batch("query", 2))
    judging.replace([land(UNO, rows(5))], MORE)
    assert not spark.read.format("delta").load(str(folder)).schema["id"].nullable


def test_without_spark_a_table_with_a_check_is_refused(tmp_path, land, changed):
    changed(*WRITTEN["checkConstraints"])
    bare = Committer(LocalStore.at(tmp_path), threads=1)
    with pytest.raises(TableFeatureError, match="only a process with Spark can evaluate"):
        bare.append([land(UNO, rows(4))], Batch("query", 2))
    bare.close()


def test_a_check_that_cannot_be_evaluated_is_named(judging, land, changed):
    changed("ALTER TABLE {t} ADD CONSTRAINT odd CHECK (cast(s AS int) >= 0)")
    broken = pa.Table.from_pylist([{"id": 5, "n": 5, "s": "x"}], SCHEMA)
    with pytest.raises(LakeError, match=r"constraints cannot be evaluated .*: odd"):
        judging.append([land(UNO, broken)], Batch("query", 2))


def test_deleted_rows_stay_deleted_through_a_widening(spark, judging, changed):
    folder = changed(*DELETED)
    widen(judging, {UNO: pa.schema([("n", pa.int64())])})
    assert ids(spark, folder) == [0, 2, 3]
    assert sum(file.rows for file in active_files(judging.fresh(UNO))) == 3


def test_a_file_with_deleted_rows_is_not_removed_by_name(spark, judging, changed):
    folder = changed(*DELETED)
    before = version(folder)
    removing = Commit(table=UNO, files=(), removed=active_files(judging.fresh(UNO)))
    with pytest.raises(TableFeatureError, match=r"REORG TABLE .* APPLY \(PURGE\)"):
        judging.append([removing], Batch("redo", 1))
    with pytest.raises(TableFeatureError, match="REORG"):
        ensure_usable(judging.fresh(UNO), Use.REWRITE)
    assert version(folder) == before
    spark.sql(f"REORG TABLE delta.`{folder}` APPLY (PURGE)")
    left = Commit(table=UNO, files=(), removed=active_files(judging.fresh(UNO)))
    judging.append([left], Batch("redo", 1))
    assert ids(spark, folder) == []


def test_rows_with_deleted_ones_among_them_are_replaced_whole(spark, judging, land, changed):
    folder = changed(*DELETED)
    judging.replace([land(UNO, rows(5))], SCHEMA)
    assert ids(spark, folder) == [5]
