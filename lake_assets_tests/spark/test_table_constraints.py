import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.errors import ConstraintViolatedError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.data_file import write_file
from lake_assets.spark.table_constraints import ensure_met
from lake_assets.storage.local import LocalStore

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("n", pa.int64()), ("day", pa.string())])


@pytest.fixture
def table(tmp_path):
    found = DeltaTable.create(tmp_path, schema=SCHEMA, partition_by=["day"])
    found.alter.add_constraint({"of_a_day": "day >= '2026'"})
    return found


def written(folder, day):
    return DataFile(
        partition={"day": day},
        **write_file(
            LocalStore.at(folder), pa.table({"n": [1, 2]}), LakeUri.local(folder), f"day={day}"
        ),
    )


def test_columns_that_only_a_folder_names_are_judged_too(spark, tmp_path, table):
    files = [written(tmp_path, "2026-11-22"), written(tmp_path, "2025-01-01")]
    ensure_met(spark, table, files[:1], SCHEMA)
    with pytest.raises(ConstraintViolatedError, match=r"2 new rows violate its .*'of_a_day'"):
        ensure_met(spark, table, files, SCHEMA)
