"""What every kind of catalogue can do; each is a context that ends its connections."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol, Self

from lake_assets.catalog.entries import CatalogTable


class Catalog(Protocol):
    """A catalogue that answers. All of it raises CatalogError where that cannot be done."""

    @property
    def has_grants(self) -> bool:
        """Whether it knows who may read a table; else the three about that do nothing."""

    @property
    def title(self) -> str:
        """Which one, in words."""

    def __enter__(self) -> Self:
        """The catalogue, until the end of a block."""

    def __exit__(self, *_: object) -> None:
        """End its connections."""

    def databases(self) -> Mapping[str, str]:
        """By name, the id of the lake that made the database; empty of one that no lake made."""

    def tables(self, database: str) -> Sequence[CatalogTable]:
        """All entries of a database, whoever's they are; none of one that is not there."""

    def lake_of(self, table: CatalogTable) -> str | None:
        """Whose an entry is by now, as `CatalogTable.lake`; None of one that is not there."""

    def fitted(self, table: CatalogTable) -> CatalogTable:
        """A table as the catalogue will tell of it: texts cut to what it takes, and so on."""

    def create_database(self, name: str, lake: str) -> None:
        """Make a database for a lake."""

    def create(self, table: CatalogTable) -> None:
        """Register a table, as it was fitted."""

    def update(self, table: CatalogTable) -> None:
        """Have an entry be as a table that was fitted, and keep what others added to it."""

    def readers(self, table: CatalogTable) -> AbstractSet[str]:
        """Who may read a registered table, as far as it was granted for the table itself."""

    def grant(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """Let some read a table, and find it."""

    def revoke(self, table: CatalogTable, principals: Sequence[str]) -> None:
        """Take reading a table from some."""

    def drop(self, table: CatalogTable) -> None:
        """Take an entry out, if it is still there; its files stay."""
