"""Commits that change a table which deltalake refuses, since its features are unknown to it.

All that these features ask is asked by `delta.table_features` before; here a table's rows are
replaced, some of its files removed, or its columns added to, by one commit as `delta.append` makes
it. Format: the Delta protocol's "Actions",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltalake import DeltaTable
from deltalake.schema import Schema

from lake_assets.delta.append import append
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.conflicts import overtaken
from lake_assets.delta.data_files import active_files
from lake_assets.delta.known_table import Known
from lake_assets.delta.table_log import TableLog
from lake_assets.model.tables import TableRef


def rewrite(
    log: TableLog,
    handle: DeltaTable,
    commit: Commit,
    columns: Schema | None,
    batches: Sequence[Batch],
    partition_by: Sequence[str],
) -> None:
    """Commit to a table at the handle's version.

    Args:
        log: of the table.
        handle: the table.
        commit: what comes and goes.
        columns: the table's new ones; all rows that are there go then.
        batches: the identities it carries, the first of them its own.
        partition_by: what the table is partitioned by then.

    Raises:
        CommitConflictError: another writer came first; nothing happened.
        LakeError: the log cannot be written.
    """
    further: Sequence[dict[str, Any]] = ()
    if columns is not None:
        commit = replace(commit, removed=active_files(handle))
        further = _metadata(handle, columns.to_json(), partition_by)
    more = [*batches[1:], *commit.transactions]
    batch = next(iter(batches), None)
    _put(log, handle, replace(commit, transactions=more), batch, further, partition_by)


def add_columns(log: TableLog, handle: DeltaTable, table: TableRef, columns: Schema) -> None:
    """Add columns, and fields of structs, that the table lacks; raises as `rewrite`."""
    have, more = json.loads(handle.schema().to_json()), json.loads(columns.to_json())
    commit = Commit(table=table, files=(), info={"operation": "ADD COLUMNS"})
    split_by = handle.metadata().partition_columns
    further = _metadata(handle, json.dumps(_joined(have, more)), split_by)
    _put(log, handle, commit, None, further, split_by)


def with_traits(handle: DeltaTable, columns: Schema) -> Schema:
    """Columns that may be null in our own tables, as strict as the table has them."""
    have, wanted = json.loads(handle.schema().to_json()), json.loads(columns.to_json())
    return Schema.from_json(json.dumps(_strict(have, wanted)))


def _put(
    log: TableLog,
    handle: DeltaTable,
    commit: Commit,
    batch: Batch | None,
    further: Sequence[dict[str, Any]],
    partition_by: Sequence[str],
) -> None:
    known = Known(
        version=handle.version(),
        table_id=str(handle.metadata().id),
        last={},
        partition_by=tuple(partition_by),
    )
    at_ms = int(time.time() * 1000)
    if not append(log, known, commit, batch, at_ms, further):
        raise overtaken(commit.table, f"version {known.version + 1} is there already")


def _metadata(
    handle: DeltaTable, columns: str, partition_by: Sequence[str]
) -> list[dict[str, Any]]:
    """The action that gives a table other columns, or another layout; none if it has these."""
    metadata = handle.metadata()
    is_same = json.loads(columns) == json.loads(handle.schema().to_json())
    if is_same and list(partition_by) == metadata.partition_columns:
        return []
    fields = {
        "id": str(metadata.id),
        "name": metadata.name,
        "description": metadata.description,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": columns,
        "partitionColumns": list(partition_by),
        "createdTime": metadata.created_time,
        "configuration": metadata.configuration,
    }
    return [{"metaData": {key: value for key, value in fields.items() if value is not None}}]


def _is_struct(kind: object) -> bool:
    return isinstance(kind, dict) and kind["type"] == "struct"


def _joined(have: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A struct with the fields of both; its own come first, and stay what they are."""
    added = {field["name"]: field for field in more["fields"]}
    fields = [
        {**field, "type": _joined(field["type"], added[field["name"]]["type"])}
        if field["name"] in added and _is_struct(field["type"])
        else field
        for field in have["fields"]
    ]
    known = {field["name"] for field in fields}
    fields += [field for name, field in added.items() if name not in known]
    return {**have, "fields": fields}


def _strict(have: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A struct's fields with what the other says of those that it has, too."""
    known = {field["name"]: field for field in have["fields"]}
    return {**wanted, "fields": [_field(known.get(f["name"]), f) for f in wanted["fields"]]}


def _field(have: Mapping[str, Any] | None, wanted: dict[str, Any]) -> dict[str, Any]:
    if have is None:
        return wanted
    both = _is_struct(have["type"]) and _is_struct(wanted["type"])
    return {
        **wanted,
        "type": _strict(have["type"], wanted["type"]) if both else wanted["type"],
        "nullable": have["nullable"],
        "metadata": {**have["metadata"], **wanted["metadata"]},
    }
