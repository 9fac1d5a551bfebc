"""Files of tables' logs, as paths: tests look at them, copy and damage them."""

from pathlib import Path

from lake_assets.delta.table_log import local_log


def commit_file(folder: Path, version: int) -> Path:
    """The file of a version's commit in the log of the table in `folder`."""
    return local_log(folder).commit_file(version).as_path()
