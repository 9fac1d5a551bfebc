"""Paths of tables and their files, in the forms that Spark and deltalake take and give.

A file system allows nearly any character in a name. Spark takes some of them for patterns, and both
give addresses (`file:///…%20…`) where they were given paths; nobody else may put one together.
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from deltalake import DeltaTable

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
    return str(folder / relative)


def for_deltalake(folder: Path) -> Path:
    """A table's folder as deltalake takes it: a text it would take for an address if it can."""
    return folder.absolute()


def from_address(address: str) -> Path:
    """The local path that Spark or deltalake means by an address, or by a path without a scheme."""
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme == "file" else Path(address)


def folder_of(handle: DeltaTable) -> Path:
    """Where an opened table lies."""
    return from_address(handle.table_uri)
