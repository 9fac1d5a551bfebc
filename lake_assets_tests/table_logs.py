"""Tables' logs of folders, and their files as paths: tests look at them, copy and damage them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_log import TableLog
from lake_assets.storage.local import LocalStore


def local_log(folder: Path) -> TableLog:
    """The log of the table in `folder`."""
    store = LocalStore.at(folder)
    return TableLog(store, store.root)


def commit_file(folder: Path, version: int) -> Path:
    """The file of a version's commit in the log of the table in `folder`."""
    return local_log(folder).commit_file(version).as_path()


def rows_in(folder: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of the table in `folder`, for a process that may end just then.

    deltalake's `to_pyarrow_table` has threads of Arrow call Python, and they abort an interpreter
    that is at its end ("terminate called without an active exception"): 12 of 60 on a busy machine.
    """
    log = local_log(folder)
    paths = [log.data_file(file.path).as_path() for file in active_files(log.open())]
    read = [pq.ParquetFile(path).read(columns) for path in paths]
    return pa.concat_tables(read, promote_options="default")
