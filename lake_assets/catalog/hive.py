"""Hive's metastore, by Thrift, as Spark, Trino, Flink and Hive itself read Delta tables from it.

Without SASL and TLS. It keeps no permissions that those engines ask for.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Self

from lake_assets.catalog.entries import (
    LAKE,
    OWNER,
    CatalogColumn,
    CatalogTable,
    in_parts,
    own,
    shortened,
)
from lake_assets.catalog.hive_client import HiveClient, words
from lake_assets.catalog.hive_words import (
    EXTERNAL,
    INPUT_FORMAT,
    OUTPUT_FORMAT,
    SERDE,
    in_hive_words,
    parameters,
    serde_parameters,
)
from lake_assets.settings.catalog import CatalogSettings

_LONGEST_COMMENT = 256
_LONGEST_PARAMETER = 4000
"""Characters, in the metastore's own database."""

_COMMENT = "comment"

_NO_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}
"""The metastore would list the table's files to count them, and Delta's log knows better."""


class HiveCatalog:
    """A metastore; see `base.Catalog`."""

    has_grants = False

    def __init__(self, settings: CatalogSettings) -> None:
        """Know where it is; nothing is asked yet."""
        self._client = HiveClient(settings)

    @property
    def title(self) -> str:
        """As the base has it."""
        return self._client.title

    def __enter__(self) -> Self:
        """As the base has it."""
        return self

    def __exit__(self, *_: object) -> None:
        """As the base has it."""
        self._client.close()

    def databases(self) -> Mapping[str, str]:
        """As the base has it."""
        found = {}
        with self._client.calling() as metastore:
            names = metastore.get_all_databases()
        for name in names:
            with self._client.calling(words.NoSuchObjectException) as metastore:
                told = metastore.get_database(name)
                found[name] = (told.parameters or {}).get(LAKE, "")
        return found

    def tables(self, database: str) -> Sequence[CatalogTable]:
        """As the base has it."""
        found = []
        with self._client.calling() as metastore:
            names = metastore.get_all_tables(database)
        for name in names:
            with self._client.calling(words.NoSuchObjectException) as metastore:
                found.append(_read(metastore.get_table(database, name)))
        return found

    def lake_of(self, table: CatalogTable) -> str | None:
        """As the base has it."""
        with self._client.calling(words.NoSuchObjectException) as metastore:
            return _read(metastore.get_table(table.database, table.name)).lake
        return None

    def fitted(self, table: CatalogTable) -> CatalogTable:
        """As the base has it; Hadoop calls S3 `s3a`."""
        fitted = in_hive_words(table, _LONGEST_COMMENT)
        place = fitted.location
        return replace(
            fitted,
            comment=shortened(table.comment, _LONGEST_PARAMETER),
            location=f"s3a{place[2:]}" if place.startswith("s3://") else place,
            properties=in_parts(table.properties, _LONGEST_PARAMETER),
        )

    def create_database(self, name: str, lake: str) -> None:
        """As the base has it."""
        database = words.Database(name=name, description="", parameters={LAKE: lake})
        with self._client.calling(words.AlreadyExistsException) as metastore:
            metastore.create_database(database)

    def create(self, table: CatalogTable) -> None:
        """As the base has it."""
        self._create(_told(table, {}))

    def update(self, table: CatalogTable) -> None:
        """As the base has it; types that the metastore would not change are registered anew."""
        with self._client.calling() as metastore:
            found = metastore.get_table(table.database, table.name)
        told = _told(table, found.parameters or {})
        with self._client.calling(words.InvalidOperationException) as metastore:
            metastore.alter_table(table.database, table.name, told)
            return
        self.drop(table)
        self._create(told)

    def drop(self, table: CatalogTable) -> None:
        """As the base has it."""
        with self._client.calling(words.NoSuchObjectException) as metastore:
            metastore.drop_table(table.database, table.name, False)  # noqa: FBT003 - files stay

    def readers(self, table: CatalogTable) -> AbstractSet[str]:
        """None that it knew."""
        del table
        return frozenset()

    def grant(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """Nothing."""

    def revoke(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """Nothing."""

    def _create(self, told: Any) -> None:  # noqa: ANN401 - thriftpy2 has no types
        told.parameters = {**told.parameters, **_NO_STATISTICS}
        with self._client.calling() as metastore:
            metastore.create_table(told)


def _read(told: Any) -> CatalogTable:  # noqa: ANN401 - thriftpy2 has no types
    storage = told.sd
    return CatalogTable(
        database=told.dbName,
        name=told.tableName,
        columns=tuple(
            CatalogColumn(name=one.name, type=one.type or "", comment=one.comment or "")
            for one in (storage.cols if storage else None) or ()
        ),
        location=_place((storage.location if storage else None) or ""),
        comment=(told.parameters or {}).get(_COMMENT, ""),
        properties=own(told.parameters or {}),
    )


def _place(told: str) -> str:
    """Hadoop writes `file:/…` for `file:///…`."""
    place = told.rstrip("/")
    has_no_host = place.startswith("file:/") and not place.startswith("file://")
    return f"file://{place.removeprefix('file:')}" if has_no_host else place


def _told(table: CatalogTable, before: Mapping[str, str]) -> Any:  # noqa: ANN401 - as above
    columns = [
        words.FieldSchema(name=one.name, type=one.type, comment=one.comment)
        for one in table.columns
    ]
    storage = words.StorageDescriptor(
        cols=columns,
        location=table.location,
        inputFormat=INPUT_FORMAT,
        outputFormat=OUTPUT_FORMAT,
        compressed=False,
        numBuckets=-1,
        serdeInfo=words.SerDeInfo(
            name=table.name, serializationLib=SERDE, parameters=serde_parameters(table)
        ),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    return words.Table(
        tableName=table.name,
        dbName=table.database,
        owner=table.properties.get(OWNER, ""),
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=storage,
        partitionKeys=[],
        parameters={**parameters(table, before), _COMMENT: table.comment},
        tableType=EXTERNAL,
    )
