"""A table's columns as its Delta log has them, in words for people."""

import json
from dataclasses import dataclass

from deltalake import DeltaTable

from lake_assets.delta.log_history import open_table
from lake_assets.model.tables import STATE, TableRef
from lake_assets.storage.store import Store


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    type: str
    comment: str = ""


def columns_of(handle: DeltaTable) -> tuple[Column, ...]:
    """The columns of an open table, in their order, without those that gold keeps for itself."""
    return tuple(
        Column(
            name=field.name,
            type=_type_in_words(field.type.to_json()),
            comment=str(field.metadata.get("comment", "")),
        )
        for field in handle.schema().fields
        if not field.name.startswith(STATE)
    )


def column_types(lake: Store, table: TableRef) -> tuple[Column, ...]:
    """The columns of a table of the lake; empty if there is no such table yet."""
    handle = open_table(lake, table)
    return columns_of(handle) if handle else ()


def _type_in_words(json_text: str) -> str:
    """`"long"` is `long`; of a nested type the outer word says enough."""
    data_type = json.loads(json_text)
    return data_type if isinstance(data_type, str) else str(data_type["type"])
