"""Tables' logs of folders, and their files as paths: tests look at them, copy and damage them."""

from pathlib import Path

from lake_assets.delta.table_log import TableLog
from lake_assets.storage.local import LocalStore


def local_log(folder: Path) -> TableLog:
    """The log of the table in `folder`."""
    store = LocalStore.at(folder)
    return TableLog(store, store.root)


def commit_file(folder: Path, version: int) -> Path:
    """The file of a version's commit in the log of the table in `folder`."""
    return local_log(folder).commit_file(version).as_path()
