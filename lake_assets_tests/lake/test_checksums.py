import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.lake.change import Batch
from lake_assets.lake.commits import CommitDoor
from lake_assets.lake.put import commit_file
from lake_assets.model.tables import bronze_of, silver_of
from lake_assets_tests.lake.test_appends import SCHEMA, rows

GAMES = bronze_of("games")


def checksums(lake, table=GAMES):
    """Versions that have a checksum."""
    return sorted(int(file.stem) for file in (table.path(lake) / "_delta_log").glob("*.crc"))


def newest(lake, table=GAMES):
    return DeltaTable(table.path(lake)).version()


def seen_by_spark(spark, folder):
    """Whether Delta found a checksum of the newest version, and how many jobs its columns took."""
    # Delta has no public way to ask for a snapshot's checksum.
    jvm, session = spark._jvm, spark._jsparkSession  # noqa: SLF001
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    snapshot = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session, str(folder)).snapshot()
    columns = snapshot.metadata().schema().fieldNames()
    jobs = len(tracker.getJobIdsForGroup(None)) - before
    # Compares with the log what the checksum says of it; a mismatch is an error of Delta's.
    assert snapshot.validateChecksum(jvm.PythonUtils.toScalaMap({}))
    return snapshot.checksumOpt().isDefined(), list(columns), jobs


@pytest.mark.spark
def test_delta_opens_a_version_that_has_a_checksum_without_a_job(spark, tmp_path, door, land):
    door.create({GAMES: SCHEMA}, partition_by=["b"], properties={"delta.appendOnly": "false"})
    for number in range(13):
        door.append([land(GAMES, rows(number))], Batch("query", number))
        assert checksums(tmp_path) == [0, number + 1]
    folder = GAMES.path(tmp_path)
    assert seen_by_spark(spark, folder) == (True, ["a", "b"], 0)
    (folder / "_delta_log" / f"{13:020}.crc").unlink()
    has_checksum, _, jobs = seen_by_spark(spark, folder)
    assert not has_checksum
    assert jobs > 0


@pytest.mark.spark
def test_a_checksum_is_right_whatever_others_did_to_the_table(spark, tmp_path, door, land):
    door.create({GAMES: SCHEMA})
    batches = iter(range(100))

    def append(by):
        batch = Batch("query", next(batches))
        by.append([land(GAMES, rows(batch.version, -batch.version))], batch)
        assert newest(tmp_path) in checksums(tmp_path)
        return seen_by_spark(spark, GAMES.path(tmp_path))

    other = CommitDoor(tmp_path, threads=1)
    try:
        assert append(door) == (True, ["a", "b"], 0)
        assert append(other) == (True, ["a", "b"], 0)
        other.compact(GAMES)
        assert newest(tmp_path) not in checksums(tmp_path)
        assert append(door) == (True, ["a", "b"], 0)
        other.delete(GAMES, "a < 0")
        assert append(other) == (True, ["a", "b"], 0)
        other.add_columns({GAMES: pa.schema([*SCHEMA, ("c", pa.int64())])})
        assert append(door) == (True, ["a", "b", "c"], 0)
    finally:
        other.close()


def test_tables_that_spark_does_not_follow_get_none(tmp_path, door, land):
    uno = silver_of("uno")
    door.create({uno: SCHEMA})
    door.append([land(uno, rows(1))], Batch("query", 1))
    assert checksums(tmp_path, uno) == []


def test_an_append_after_a_death_before_the_checksum_writes_the_next(tmp_path, door, land):
    door.create({GAMES: SCHEMA})
    door.append([land(GAMES, rows(1))], Batch("query", 1))
    (GAMES.path(tmp_path) / "_delta_log" / f"{1:020}.crc").unlink()
    assert commit_file(GAMES.path(tmp_path), 1).exists()
    door.append([land(GAMES, rows(2))], Batch("query", 2))
    assert checksums(tmp_path) == [0, 2]
