from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_paths import folder_of, for_deltalake, for_spark, from_address

ODD = "jo s\u00e9 100% {y} * + & ' \" , = ; : $ ~ ( ) @ ! < > `."


@pytest.mark.parametrize("name", ["plain", ODD, "trailing ", ".hidden"])
def test_a_folder_comes_back_as_it_was_given(tmp_path, name):
    folder = tmp_path / name
    write_deltalake(for_deltalake(folder), pa.table({"a": [1]}))
    handle = DeltaTable(for_deltalake(folder))
    assert folder_of(handle) == folder
    (file,) = active_files(handle)
    assert Path(for_spark(folder, file.path)).is_file()


def test_an_address_is_decoded_and_a_path_is_not():
    assert from_address("file:///a%20b/100%25") == Path("/a b/100%")
    assert from_address("file:/a%20b") == Path("/a b")
    assert from_address("/a%20b") == Path("/a%20b")
