"""AWS Glue's Data Catalog, as Athena, EMR, Redshift and Trino read Delta tables from it."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Self

from lake_assets.catalog.aws import calling, client_of
from lake_assets.catalog.entries import (
    LAKE,
    OWNER,
    CatalogColumn,
    CatalogTable,
    own,
    shortened,
)
from lake_assets.catalog.hive_words import (
    EXTERNAL,
    INPUT_FORMAT,
    OUTPUT_FORMAT,
    SERDE,
    in_hive_words,
    parameters,
    serde_parameters,
)
from lake_assets.catalog.lake_formation import LakeFormation
from lake_assets.settings.catalog import CatalogSettings

_LONGEST_COMMENT = 255
"""Characters of a column's comment."""

_LONGEST_DESCRIPTION = 2048


class GlueCatalog:
    """The Data Catalog of an account and region; see `base.Catalog`."""

    has_grants = True

    def __init__(self, settings: CatalogSettings) -> None:
        """Know where it is; nothing is asked yet.

        Raises:
            SettingsError: boto3 is not installed.
            CatalogError: the region is not told.
        """
        self._client = client_of("glue", settings)
        self._formation = LakeFormation(settings)

    @property
    def title(self) -> str:
        """As the base has it."""
        return f"AWS Glue at {self._client.meta.endpoint_url}"

    def __enter__(self) -> Self:
        """As the base has it."""
        return self

    def __exit__(self, *_: object) -> None:
        """As the base has it."""
        self._client.close()
        self._formation.close()

    def databases(self) -> Mapping[str, str]:
        """As the base has it."""
        pages = self._pages("get_databases", "DatabaseList")
        return {one["Name"]: (one.get("Parameters") or {}).get(LAKE, "") for one in pages}

    def tables(self, database: str) -> Sequence[CatalogTable]:
        """As the base has it."""
        return [_read(one) for one in self._pages("get_tables", "TableList", DatabaseName=database)]

    def lake_of(self, table: CatalogTable) -> str | None:
        """As the base has it."""
        with calling(self.title, there="EntityNotFoundException"):
            found = self._client.get_table(DatabaseName=table.database, Name=table.name)
            return _read(found["Table"]).lake
        return None

    def fitted(self, table: CatalogTable) -> CatalogTable:
        """As the base has it."""
        fitted = in_hive_words(table, _LONGEST_COMMENT)
        return replace(fitted, comment=shortened(table.comment, _LONGEST_DESCRIPTION))

    def create_database(self, name: str, lake: str) -> None:
        """As the base has it."""
        with calling(self.title, there="AlreadyExistsException"):
            self._client.create_database(
                DatabaseInput={"Name": name, "Parameters": {LAKE: lake}},
            )

    def create(self, table: CatalogTable) -> None:
        """As the base has it."""
        with calling(self.title):
            self._client.create_table(DatabaseName=table.database, TableInput=_input(table, {}))

    def update(self, table: CatalogTable) -> None:
        """As the base has it."""
        with calling(self.title):
            found = self._client.get_table(DatabaseName=table.database, Name=table.name)["Table"]
            self._client.update_table(
                DatabaseName=table.database,
                TableInput=_input(table, found.get("Parameters") or {}),
                SkipArchive=True,  # an account has a million versions of tables in all
            )

    def readers(self, table: CatalogTable) -> AbstractSet[str]:
        """As the base has it, by Lake Formation."""
        return self._formation.readers(table)

    def grant(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """As the base has it, by Lake Formation."""
        self._formation.grant(table, principals)

    def revoke(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """As the base has it, by Lake Formation."""
        self._formation.revoke(table, principals)

    def drop(self, table: CatalogTable) -> None:
        """As the base has it."""
        with calling(self.title, there="EntityNotFoundException"):
            self._client.delete_table(DatabaseName=table.database, Name=table.name)

    def _pages(self, operation: str, name: str, **asked: str) -> Iterator[dict[str, Any]]:
        with calling(self.title, there="EntityNotFoundException"):
            for page in self._client.get_paginator(operation).paginate(**asked):
                yield from page[name]


def _read(told: Mapping[str, Any]) -> CatalogTable:
    storage = told.get("StorageDescriptor") or {}
    return CatalogTable(
        database=told["DatabaseName"],
        name=told["Name"],
        columns=tuple(
            CatalogColumn(
                name=one["Name"], type=one.get("Type", ""), comment=one.get("Comment") or ""
            )
            for one in storage.get("Columns") or ()
        ),
        location=(storage.get("Location") or "").rstrip("/"),
        comment=told.get("Description") or "",
        properties=own(told.get("Parameters") or {}),
    )


def _input(table: CatalogTable, before: Mapping[str, str]) -> dict[str, Any]:
    """What is asked for, with the parameters that others had added."""
    return {
        "Name": table.name,
        "Description": table.comment,
        **({"Owner": table.properties[OWNER]} if OWNER in table.properties else {}),
        "TableType": EXTERNAL,
        "Parameters": parameters(table, before),
        "StorageDescriptor": {
            "Columns": [
                {"Name": one.name, "Type": one.type, "Comment": one.comment}
                for one in table.columns
            ],
            "Location": table.location,
            "InputFormat": INPUT_FORMAT,
            "OutputFormat": OUTPUT_FORMAT,
            "SerdeInfo": {
                "SerializationLibrary": SERDE,
                "Parameters": serde_parameters(table),
            },
        },
        "PartitionKeys": [],
    }
