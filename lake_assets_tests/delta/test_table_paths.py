from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_paths import data_file, folder_of
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri

ODD = "jo s\u00e9 100% {y} * + & ' \" , = ; : $ ~ ( ) @ ! < > `."


@pytest.mark.parametrize("name", ["plain", ODD, "trailing ", ".hidden"])
def test_a_folder_comes_back_as_it_was_given(tmp_path, name):
    folder = LakeUri.local(tmp_path / name)
    write_deltalake(folder.for_deltalake(), pa.table({"a": [1]}))
    handle = DeltaTable(folder.for_deltalake())
    assert folder_of(handle) == folder
    (file,) = active_files(handle)
    assert Path(data_file(folder, file.path).for_spark()).is_file()


def test_a_file_may_be_elsewhere():
    folder = LakeUri.local(Path("/lake/silver/uno"))
    assert data_file(folder, "day=a b/100%.parquet").path == "/lake/silver/uno/day=a b/100%.parquet"
    assert data_file(folder, "file:/other/a b/100%.parquet").path == "/other/a b/100%.parquet"
    bucket = LakeUri.parse("s3://b/lake/silver/uno")
    assert str(data_file(bucket, "s3://b/a b%20.parquet")) == "s3://b/a b%20.parquet"


@pytest.mark.parametrize("address", ["s3://b/a.parquet", "hdfs://h/a.parquet"])
def test_a_file_in_another_store_cannot_be_read(address):
    with pytest.raises(LakeError, match=r"another store|not supported"):
        data_file(LakeUri.local(Path("/lake/silver/uno")), address)
