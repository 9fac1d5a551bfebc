"""Who may read the lake's tables in a catalogue: as it is, and brought to what feeds declare."""

from collections.abc import Iterator, Sequence

from lake_assets.catalog.base import Catalog
from lake_assets.catalog.entries import CatalogTable
from lake_assets.catalog.grants import Standing, noted_readers, standing


def standings(
    catalog: Catalog,
    lake: str,
    wanted: Sequence[CatalogTable],
    registered: Sequence[CatalogTable],
) -> tuple[Standing, ...]:
    """How each table stands that is, or was, granted to somebody; names of others are left out.

    None of a catalogue that knows no grants.

    Args:
        catalog: that is asked, a question a table.
        lake: id of the lake.
        wanted: its tables, which note who may read them.
        registered: what the catalogue has under their names.

    Raises:
        CatalogError: the catalogue cannot be reached, or refuses.
    """
    if not catalog.has_grants:
        return ()
    there = {table.place: table for table in registered}
    return tuple(_standings(catalog, lake, [(one, there.get(one.place)) for one in wanted]))


def _standings(
    catalog: Catalog, lake: str, pairs: Sequence[tuple[CatalogTable, CatalogTable | None]]
) -> Iterator[Standing]:
    for table, found in pairs:
        is_granted = noted_readers(table) or (found and noted_readers(found))
        if is_granted and (found is None or found.lake == lake):
            yield standing(table, found, catalog.readers(found) if found else frozenset())


def revoke(catalog: Catalog, found: Sequence[Standing]) -> None:
    """Take from some what they should not have any more: before entries forget who they are."""
    for one in found:
        if one.surplus:
            catalog.revoke(one.table, one.surplus)


def grant(catalog: Catalog, found: Sequence[Standing]) -> None:
    """Give what is missing, once the tables are registered."""
    for one in found:
        if one.missing:
            catalog.grant(one.table, one.missing)
