"""Permissions of Glue's tables, which AWS Lake Formation keeps."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

from lake_assets.catalog.aws import calling, client_of
from lake_assets.catalog.entries import CatalogTable
from lake_assets.settings.catalog import CatalogSettings

_READ = ["SELECT", "DESCRIBE"]


class LakeFormation:
    """That of an account and region; a client is made when it is first asked."""

    def __init__(self, settings: CatalogSettings) -> None:
        """Know where it is; nothing is asked yet."""
        self._settings = settings
        self._users: set[tuple[str, str]] = set()
        """By database and principal, who was let see the database just now."""

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401 - boto3 has no types
        return client_of("lakeformation", self._settings)

    @property
    def _title(self) -> str:
        return f"AWS Lake Formation at {self._client.meta.endpoint_url}"

    def close(self) -> None:
        """End its connections."""
        if "_client" in self.__dict__:
            self._client.close()

    def readers(self, table: CatalogTable) -> AbstractSet[str]:
        """Who may read a table.

        Raises:
            CatalogError: as all of this.
        """
        with calling(self._title, there="EntityNotFoundException"):
            return {
                one["Principal"]["DataLakePrincipalIdentifier"]
                for one in self._permissions(table)
                if "SELECT" in one["Permissions"]
            }
        return frozenset()

    def grant(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """Let some read a table, and see its database."""
        with calling(self._title):
            for one in principals:
                self._client.grant_permissions(
                    Principal=_principal(one), Resource=_table(table), Permissions=_READ
                )
                if (table.database, one) not in self._users:
                    self._client.grant_permissions(
                        Principal=_principal(one),
                        Resource={"Database": {"Name": table.database}},
                        Permissions=["DESCRIBE"],
                    )
                    self._users.add((table.database, one))

    def revoke(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """Take reading a table from some."""
        with calling(self._title):
            for one in principals:
                self._client.revoke_permissions(
                    Principal=_principal(one), Resource=_table(table), Permissions=_READ
                )

    def _permissions(self, table: CatalogTable) -> Iterator[dict[str, Any]]:
        asked: dict[str, Any] = {"Resource": _table(table)}
        while True:
            page = self._client.list_permissions(**asked)
            yield from page["PrincipalResourcePermissions"]
            if not page.get("NextToken"):
                return
            asked["NextToken"] = page["NextToken"]


def _principal(name: str) -> dict[str, str]:
    return {"DataLakePrincipalIdentifier": name}


def _table(table: CatalogTable) -> dict[str, Any]:
    return {"Table": {"DatabaseName": table.database, "Name": table.name}}
