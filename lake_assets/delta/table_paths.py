"""Where an opened table and its files lie, and how Spark takes paths; see `model.lake_uri`."""

from urllib.parse import quote

from deltalake import DeltaTable

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri, is_address

SPARK_OPTIONS = {"__globPaths__": "false", "recursiveFileLookup": "true"}
"""For whoever gives Spark paths of files: they are names, not patterns; Spark sets the first itself
where it reads a table. Without the second it looks for partitions, and reads the files twice if
their path looks like a pattern."""


def folder_of(handle: DeltaTable) -> LakeUri:
    """Where an opened table lies."""
    return LakeUri.from_address(handle.table_uri)


def data_file(folder: LakeUri, path: str) -> LakeUri:
    """A file that a table's log names, as `delta.log_tail` and `delta.data_files` give its path.

    It is below the table's folder, or elsewhere, as those of a shallow clone are.

    Args:
        folder: of the table.
        path: not encoded.

    Raises:
        LakeError: it is in another store than the table.
    """
    if is_address(path):
        return _elsewhere(folder, path)
    # Not by `/`, which looks at each name: these are known, and asked for often.
    return LakeUri(folder.scheme, folder.bucket, f"{folder.path}/{path}")


def _elsewhere(folder: LakeUri, address: str) -> LakeUri:
    place = LakeUri.from_address(quote(address, safe="/:@"))
    if (place.scheme, place.bucket) != (folder.scheme, folder.bucket):
        raise LakeError(
            str(folder),
            f"its log names {address}, which is in another store, as in a shallow clone",
            "Copy the table whole",
        )
    return place
