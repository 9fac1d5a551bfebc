"""Version checksums (`.crc`) of the tables that Spark follows as a stream.

Delta's source opens a snapshot of each new version, and must know its columns and protocol. With a
checksum beside the commit it reads that one file, without one it runs a Spark job over the log.
Format: the Delta protocol's "Version Checksum File",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#version-checksum-file
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from lake_assets.lake.change import Commit
from lake_assets.lake.history import state_of
from lake_assets.lake.put import commit_file, put
from lake_assets.model.tables import Layer, TableRef


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """What a version's checksum says of it."""

    files: int
    size: int
    """Of the files together, bytes."""

    metadata: Mapping[str, Any]
    protocol: Mapping[str, Any]
    """Both as a commit has them."""

    def after(self, commit: Commit) -> "Tally":
        """The table with one append more."""
        size = self.size + sum(file.size for file in commit.files)
        return replace(self, files=self.files + len(commit.files), size=size)


def is_followed(table: TableRef) -> bool:
    """Whether Spark reads a table as a stream, so that its versions get checksums.

    It reads a feed's bronze. Rows that wait for the registry are in that layer, too: a table that
    is seldom written, so that it has checksums costs less than telling it apart.
    """
    return table.layer is Layer.BRONZE


def tally_of(handle: DeltaTable) -> Tally:
    """What a checksum says of the version that was opened; the table asks nothing of a writer."""
    metadata, protocol = handle.metadata(), handle.protocol()
    state = state_of(handle)
    return Tally(
        files=state.files,
        size=state.size_bytes,
        metadata={
            "id": str(metadata.id),
            **({"name": metadata.name} if metadata.name else {}),
            **({"description": metadata.description} if metadata.description else {}),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": handle.schema().to_json(),
            "partitionColumns": metadata.partition_columns,
            "createdTime": metadata.created_time,
            "configuration": metadata.configuration,
        },
        protocol={
            "minReaderVersion": protocol.min_reader_version,
            "minWriterVersion": protocol.min_writer_version,
        },
    )


def checksum_file(folder: Path, version: int) -> Path:
    """Where the checksum of a version of the table in `folder` lies."""
    return commit_file(folder, version).with_suffix(".crc")


def write_checksum(folder: Path, version: int, tally: Tally) -> None:
    """Tell of a version that was just committed, in the place of the one before it.

    Only the newest is asked for, and the first by a query that begins; and a log's folder is listed
    at each look at it.

    Raises:
        OSError: the log cannot be written.
    """
    told = {
        "tableSizeBytes": tally.size,
        "numFiles": tally.files,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": tally.metadata,
        "protocol": tally.protocol,
    }
    put(checksum_file(folder, version), json.dumps(told))
    if version > 1:
        checksum_file(folder, version - 1).unlink(missing_ok=True)
