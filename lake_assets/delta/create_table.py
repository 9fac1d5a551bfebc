"""A table's first commit, written without deltalake's looks at what is not there yet.

As with `delta.append`, a thousand of them are what costs; whoever comes second changes nothing.
Format: the Delta protocol's "Actions" and "Schema Serialization Format",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.schema import Schema

from lake_assets.delta.commit import ENGINE
from lake_assets.delta.log_checkpoints import CHECKPOINT_EVERY
from lake_assets.delta.table_layout import layout_in, made_of
from lake_assets.delta.table_log import TableLog
from lake_assets.model.owners import Owner
from lake_assets.model.tables import TableRef
from lake_assets.settings.environment_lock import reading_environment

_PLAIN = {"minReaderVersion": 1, "minWriterVersion": 2}
"""Delta's protocol of tables that every reader opens."""

_SPECIAL = ('"timestamp_ntz"', '"variant"')
"""Types that need a protocol of their own, as they stand in a schema."""


TABLE_PROPERTIES = {
    # 10 commits between checkpoints: without them opening a table grows without bound, and
    # a checkpoint a commit would cost as much as the commit.
    "delta.checkpointInterval": str(CHECKPOINT_EVERY),
}
"""What all tables of a lake are created with."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What any number of tables are created with."""

    schema: str
    """Columns, as Delta's JSON."""

    partition_by: tuple[str, ...]
    layout: str
    """As `table_layout.layout_of`."""

    configuration: Mapping[str, str]

    def owned(self, table: TableRef, owner: Owner | None) -> "Blueprint":
        """The same for one table, which records its owner if it is told."""
        if owner is None:
            return self
        return replace(self, configuration={**self.configuration, **owner.properties(table)})

    @property
    def is_plain(self) -> bool:
        """Whether such a table has the protocol that every reader opens."""
        return not any(kind in self.schema for kind in _SPECIAL)


def create_table(log: TableLog, name: str, blueprint: Blueprint, table_id: str) -> bool:
    """Create an empty table; False if there is one already, which stays as it is.

    Args:
        log: of the table.
        name: Delta's name of it.
        blueprint: its columns and properties.
        table_id: Delta's id of it; one that is not plain gets another.

    Raises:
        LakeError: the folder cannot be written.
        DeltaError: the schema cannot be a table's.
    """
    if log.exists():
        return False
    if not blueprint.is_plain:
        reading_environment(
            lambda: DeltaTable.create(
                log.folder.for_deltalake(),
                schema=Schema.from_json(blueprint.schema),
                mode="ignore",
                partition_by=list(blueprint.partition_by),
                name=name,
                configuration=dict(blueprint.configuration),
                storage_options=dict(log.store.options),
            )
        )
        return True
    log.make()
    return log.put(0, _actions(name, blueprint, table_id, int(time.time() * 1000)))


def _actions(name: str, blueprint: Blueprint, table_id: str, at_ms: int) -> list[dict[str, Any]]:
    partitions = list(blueprint.partition_by)
    return [
        {
            "commitInfo": {
                "timestamp": at_ms,
                "operation": "CREATE TABLE",
                "operationParameters": {"partitionBy": json.dumps(partitions)},
                "engineInfo": ENGINE,
            }
        },
        {"protocol": _PLAIN},
        {
            "metaData": {
                "id": table_id,
                "name": name,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": blueprint.schema,
                "partitionColumns": partitions,
                "createdTime": at_ms,
                "configuration": dict(blueprint.configuration),
            }
        },
    ]


def blueprints_of(
    tables: Mapping[TableRef, pa.Schema],
    partition_by: Mapping[TableRef, Sequence[str]],
    properties: Mapping[str, str],
) -> dict[TableRef, Blueprint]:
    """What tables are created with, by their columns; the owner comes later."""
    configuration = {**TABLE_PROPERTIES, **properties}
    # By identity: schemas are equal whatever their columns say of themselves.
    schemas = {id(columns): columns for columns in tables.values()}
    texts = {known: as_delta(columns).to_json() for known, columns in schemas.items()}
    return {
        table: Blueprint(
            schema=texts[id(columns)],
            partition_by=(by := tuple(partition_by.get(table, ()))),
            layout=layout_in(by, made_of(columns)) if by else "",
            configuration=configuration,
        )
        for table, columns in tables.items()
    }


def as_delta(schema: pa.Schema) -> Schema:
    """Every column nullable: the columns of tomorrow are missing in the files of today."""
    return Schema.from_arrow(pa.schema([f.with_nullable(nullable=True) for f in schema]))
