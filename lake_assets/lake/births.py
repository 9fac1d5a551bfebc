"""A table's first commit, written without deltalake's looks at what is not there yet.

As with `lake.appends`, a thousand of them are what costs; whoever comes second changes nothing.
Format: the Delta protocol's "Actions" and "Schema Serialization Format",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from deltalake import DeltaTable
from deltalake.schema import Schema

from lake_assets.lake.put import put

_PLAIN = {"minReaderVersion": 1, "minWriterVersion": 2}
"""Delta's protocol of tables that every reader opens."""

_SPECIAL = ('"timestamp_ntz"', '"variant"')
"""Types that need a protocol of their own, as they stand in a schema."""


def is_plain(schema: Schema) -> bool:
    """Whether a table with these columns has the protocol that every reader opens."""
    text = schema.to_json()
    return not any(kind in text for kind in _SPECIAL)


def bear(
    folder: Path,
    name: str,
    schema: Schema,
    partition_by: Sequence[str],
    configuration: Mapping[str, str],
) -> bool:
    """Create an empty table; False if there is one already, which stays as it is.

    Raises:
        OSError: the folder cannot be written.
        DeltaError: the schema cannot be a table's.
    """
    log = folder / "_delta_log"
    if _has_commits(log):
        return False
    if not is_plain(schema):
        DeltaTable.create(
            folder,
            schema=schema,
            mode="ignore",
            partition_by=list(partition_by),
            name=name,
            configuration=dict(configuration),
        )
        return True
    log.mkdir(parents=True, exist_ok=True)
    return put(
        log / f"{0:020}.json",
        _lines(name, schema.to_json(), partition_by, configuration, int(time.time() * 1000)),
    )


def _has_commits(log: Path) -> bool:
    """Whether a table is there; its first commit may have been swept away since."""
    if not log.is_dir():
        return False
    return any(path.suffix in {".json", ".parquet"} for path in log.iterdir())


def _lines(
    name: str,
    schema: str,
    partition_by: Sequence[str],
    configuration: Mapping[str, str],
    at_ms: int,
) -> str:
    actions: list[dict[str, Any]] = [
        {
            "commitInfo": {
                "timestamp": at_ms,
                "operation": "CREATE TABLE",
                "operationParameters": {"partitionBy": json.dumps(list(partition_by))},
                "engineInfo": "lake_assets",
            }
        },
        {"protocol": _PLAIN},
        {
            "metaData": {
                "id": str(uuid4()),
                "name": name,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
                "partitionColumns": list(partition_by),
                "createdTime": at_ms,
                "configuration": dict(configuration),
            }
        },
    ]
    return "".join(f"{json.dumps(action)}\n" for action in actions)
