"""Unity Catalog by its REST API, as its open server and Databricks speak it.

It has no way to change an entry: one that is to change is taken out and registered anew, with the
permissions that it had.
"""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Self
from urllib.parse import quote

from lake_assets.catalog.entries import (
    LAKE,
    PARTITIONED_BY,
    CatalogColumn,
    CatalogTable,
    in_parts,
    own,
)
from lake_assets.catalog.unity_client import UnityClient
from lake_assets.errors import CatalogError
from lake_assets.settings.catalog import CatalogSettings

_LONGEST_PROPERTY = 255
"""Characters of a property's value: the open server keeps no more. A longer one is in parts."""

_SELECT = "SELECT"

_TYPE_NAMES = {
    "bigint": "LONG",
    "tinyint": "BYTE",
    "smallint": "SHORT",
}
"""Where the API's word for a type is not Spark's own in capitals."""

_PLAIN_TYPES = frozenset(
    {"BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "BINARY"}
    | {"TIMESTAMP_NTZ", "STRING", "DECIMAL", "ARRAY", "STRUCT", "MAP", "VARIANT", "INTERVAL"}
)


class UnityCatalog:
    """One catalog of a server; see `base.Catalog`."""

    has_grants = True

    def __init__(self, settings: CatalogSettings) -> None:
        """Know where it is; nothing is asked yet."""
        self._catalog = settings.name
        self.client = UnityClient(settings)
        self._users: set[tuple[str, str]] = set()
        """By place and principal, who was let use a catalog or a schema just now."""

    @property
    def title(self) -> str:
        """As the base has it."""
        return f"catalog {self._catalog!r} of {self.client.title}"

    def __enter__(self) -> Self:
        """As the base has it."""
        return self

    def __exit__(self, *_: object) -> None:
        """As the base has it."""
        self.client.close()

    def databases(self) -> Mapping[str, str]:
        """As the base has it."""
        if self.client.get(f"/catalogs/{self._catalog}") is None:
            return {}
        found = self.client.pages("/schemas", "schemas", {"catalog_name": self._catalog})
        with self.client.reading():
            return {str(one["name"]): (one.get("properties") or {}).get(LAKE, "") for one in found}

    def tables(self, database: str) -> Sequence[CatalogTable]:
        """As the base has it."""
        where = {"catalog_name": self._catalog, "schema_name": database}
        with self.client.reading():
            return [_read(database, one) for one in self.client.pages("/tables", "tables", where)]

    def lake_of(self, table: CatalogTable) -> str | None:
        """As the base has it."""
        found = self.client.get(f"/tables/{self._full_name(table)}")
        with self.client.reading():
            return None if found is None else _read(table.database, found).lake

    def fitted(self, table: CatalogTable) -> CatalogTable:
        """As the base has it."""
        return replace(table, properties=in_parts(table.properties, _LONGEST_PROPERTY))

    def create_database(self, name: str, lake: str) -> None:
        """As the base has it; the catalog itself is made, too."""
        if self.client.get(f"/catalogs/{self._catalog}") is None:
            self.client.post("/catalogs", {"name": self._catalog, "properties": {LAKE: lake}})
        told = {"name": name, "catalog_name": self._catalog, "properties": {LAKE: lake}}
        self.client.post("/schemas", told)

    def create(self, table: CatalogTable) -> None:
        """As the base has it."""
        partitions = table.properties.get(PARTITIONED_BY, "").split(",")
        columns = [
            _column(column, position, partitions) for position, column in enumerate(table.columns)
        ]
        told = {
            "name": table.name,
            "catalog_name": self._catalog,
            "schema_name": table.database,
            "table_type": "EXTERNAL",
            "data_source_format": "DELTA",
            "columns": columns,
            "storage_location": table.location,
            "comment": table.comment,
            "properties": dict(table.properties),
        }
        self.client.post("/tables", told)

    def update(self, table: CatalogTable) -> None:
        """As the base has it."""
        place = self._permissions(table)
        found = self.client.get(place) or {}
        self.drop(table)
        self.create(table)
        changes = [
            {"principal": one["principal"], "add": one["privileges"], "remove": []}
            for one in found.get("privilege_assignments", ())
        ]
        if changes:
            self.client.patch(place, {"changes": changes})

    def readers(self, table: CatalogTable) -> AbstractSet[str]:
        """As the base has it."""
        found = self.client.get(self._permissions(table)) or {}
        with self.client.reading():
            assigned = found.get("privilege_assignments", ())
            return {one["principal"] for one in assigned if _SELECT in one["privileges"]}

    def grant(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """As the base has it."""
        self._change(self._permissions(table), "add", _SELECT, principals)
        schema = quote(f"{self._catalog}.{table.database}", safe="")
        self._let_use(f"/permissions/schema/{schema}", "USE SCHEMA", principals)
        self._let_use(f"/permissions/catalog/{self._catalog}", "USE CATALOG", principals)

    def revoke(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """As the base has it; what they need to find other tables stays."""
        self._change(self._permissions(table), "remove", _SELECT, principals)

    def drop(self, table: CatalogTable) -> None:
        """As the base has it."""
        self.client.delete(f"/tables/{self._full_name(table)}")

    def _permissions(self, table: CatalogTable) -> str:
        return f"/permissions/table/{self._full_name(table)}"

    def _let_use(self, place: str, privilege: str, principals: Sequence[str]) -> None:
        new = [one for one in principals if (place, one) not in self._users]
        if new:
            self._change(place, "add", privilege, new)
            self._users |= {(place, one) for one in new}

    def _change(self, place: str, how: str, privilege: str, principals: Sequence[str]) -> None:
        nothing: dict[str, list[str]] = {"add": [], "remove": []}
        changes = [{**nothing, "principal": one, how: [privilege]} for one in principals]
        if self.client.patch(place, {"changes": changes}) is None:
            fact = f"does not know {', '.join(principals)}, or the table is gone"
            step = "Correct `grants` of the feed, or run it again"
            raise CatalogError(self.client.title, fact, step)

    def _full_name(self, table: CatalogTable) -> str:
        return quote(f"{self._catalog}.{table.full_name}", safe="")


def _read(database: str, told: Mapping[str, Any]) -> CatalogTable:
    columns = sorted(told.get("columns") or (), key=lambda one: int(one.get("position") or 0))
    return CatalogTable(
        database=database,
        name=told["name"],
        columns=tuple(
            CatalogColumn(
                name=one["name"], type=one.get("type_text", ""), comment=one.get("comment") or ""
            )
            for one in columns
        ),
        location=(told.get("storage_location") or "").rstrip("/"),
        comment=told.get("comment") or "",
        properties=own(told.get("properties") or {}),
    )


def _column(column: CatalogColumn, position: int, partitions: Sequence[str]) -> dict[str, Any]:
    word = column.type.partition("<")[0].partition("(")[0].partition(" ")[0]
    name = _TYPE_NAMES.get(word, word.upper())
    told = {
        "name": column.name,
        "type_text": column.type,
        "type_json": column.field,
        "type_name": name if name in _PLAIN_TYPES else "USER_DEFINED_TYPE",
        "position": position,
        "comment": column.comment,
        "nullable": json.loads(column.field)["nullable"],
    }
    if name == "DECIMAL":
        precision, scale = column.type.removeprefix("decimal(").removesuffix(")").split(",")
        told |= {"type_precision": int(precision), "type_scale": int(scale)}
    if column.name in partitions:
        told["partition_index"] = partitions.index(column.name)
    return told
