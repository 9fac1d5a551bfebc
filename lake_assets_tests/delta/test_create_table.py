from concurrent.futures import ThreadPoolExecutor, wait

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.schema import Schema

from lake_assets.delta.create_table import Blueprint, create_table
from lake_assets.settings.load import temporary_environment
from lake_assets_tests.table_logs import local_log

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), metadata={"comment": "whose"}),
        ("at", pa.timestamp("us", tz="UTC")),
        ("place", pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])),
        ("counts", pa.map_(pa.string(), pa.int64())),
        ("money", pa.decimal128(20, 0)),
        ("day", pa.date32()),
    ]
)
PLAIN = {"delta.checkpointInterval": "40"}


def born(folder, schema=SCHEMA, partition_by=("day",)):
    columns = Schema.from_arrow(schema).to_json()
    by = tuple(partition_by)
    blueprint = Blueprint(
        schema=columns, partition_by=by, layout=", ".join(by), configuration=PLAIN
    )
    return create_table(local_log(folder), "events", blueprint, "an id")


def told(folder):
    """What a log says, but for ids and times."""
    handle = DeltaTable(folder)
    found, protocol = handle.metadata(), handle.protocol()
    return (
        handle.version(),
        handle.schema().to_json(),
        (found.name, found.partition_columns, found.configuration),
        (protocol.min_reader_version, protocol.min_writer_version),
        protocol.writer_features,
    )


def test_a_table_is_what_deltalake_would_have_made(tmp_path):
    assert born(tmp_path / "ours")
    DeltaTable.create(
        tmp_path / "theirs",
        schema=Schema.from_arrow(SCHEMA),
        partition_by=["day"],
        name="events",
        configuration=PLAIN,
    )
    assert told(tmp_path / "ours") == told(tmp_path / "theirs")


def test_types_that_need_another_protocol_are_left_to_deltalake(tmp_path):
    local = pa.schema([("at", pa.timestamp("us"))])
    assert born(tmp_path / "t", local, ())
    assert DeltaTable(tmp_path / "t").protocol().min_writer_version == 7
    assert not born(tmp_path / "t", local, ())


def test_none_is_made_or_opened_while_the_environment_is_set(tmp_path):
    """Deltalake reads it then, and crashes if it moves."""
    local = pa.schema([("at", pa.timestamp("us"))])
    with ThreadPoolExecutor(1) as pool:
        with temporary_environment({"NOT_SET_BEFORE": "1"}):
            made = pool.submit(born, tmp_path / "t", local, ())
            assert not wait([made], 0.2).done
        assert made.result(10)
        with temporary_environment({"NOT_SET_BEFORE": "1"}):
            opened = pool.submit(local_log(tmp_path / "t").open)
            assert not wait([opened], 0.2).done
        assert opened.result(10).version() == 0


def test_a_table_that_is_there_stays_even_if_its_first_commit_was_swept_away(tmp_path):
    assert born(tmp_path / "t")
    before = told(tmp_path / "t")
    assert not born(tmp_path / "t", pa.schema([("other", pa.int64())]), ())
    assert told(tmp_path / "t") == before
    DeltaTable(tmp_path / "t").create_checkpoint()
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").unlink()
    assert not born(tmp_path / "t")


def test_of_many_at_once_one_creates_the_table(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: born(tmp_path / "t"), range(40)))
    assert made.count(True) == 1
    assert told(tmp_path / "t")[0] == 0


@pytest.mark.spark
def test_spark_reads_and_writes_it(tmp_path, spark):
    born(tmp_path / "t")
    path = str(tmp_path / "t")
    spark.sql("select 'ann' name, date'2026-11-21' day").write.format("delta").mode("append").save(
        path
    )
    assert [row["name"] for row in spark.read.format("delta").load(path).collect()] == ["ann"]
