"""Paths of tables and their files, in the forms that Spark and deltalake take and give.

How they look is `storage.uri`'s; here they are made of the paths of a lake that is a folder.
"""

from pathlib import Path

from deltalake import DeltaTable

from lake_assets.storage.uri import LakeUri

SPARK_OPTIONS = {"__globPaths__": "false", "recursiveFileLookup": "true"}
"""For whoever gives Spark paths of files: they are names, not patterns; Spark sets the first itself
where it reads a table. Without the second it looks for partitions, and reads the files twice if
their path looks like a pattern."""


def for_spark(folder: Path, relative: str = "") -> str:
    """A table's folder, or a file below it, as Spark's readers take it (with `SPARK_OPTIONS`).

    Args:
        folder: of the table, absolute.
        relative: of the file, as `delta.data_files` and `delta.log_tail` give it: not encoded.
    """
    uri = LakeUri.local(folder)
    return (uri / relative if relative else uri).for_spark()


def for_deltalake(folder: Path) -> Path:
    """A table's folder as deltalake takes it: absolute, or it may take it for an address."""
    return folder.absolute()


def from_address(address: str) -> Path:
    """The local path that Spark or deltalake means by an address, or by a path without a scheme."""
    return LakeUri.from_address(address).as_path()


def folder_of(handle: DeltaTable) -> Path:
    """Where an opened table lies."""
    return from_address(handle.table_uri)
