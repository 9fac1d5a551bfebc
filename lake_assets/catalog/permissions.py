"""Who may read the lake's tables in a catalogue: as it is, and brought to what feeds declare."""

from collections.abc import Iterator, Sequence

from lake_assets.catalog.base import Catalog
from lake_assets.catalog.entries import CatalogTable
from lake_assets.catalog.grants import Standing, noted_readers, standing
from lake_assets.catalog.plan import is_ours


def standings(
    catalog: Catalog,
    lake: str,
    wanted: Sequence[CatalogTable],
    registered: Sequence[CatalogTable],
    *,
    take_over: bool = False,
) -> tuple[Standing, ...]:
    """How each table stands that is, or was, granted to somebody; names of others are left out.

    None of a catalogue that knows no grants.

    Args:
        catalog: that is asked, a question a table.
        lake: id of the lake.
        wanted: its tables, which note who may read them.
        registered: what the catalogue has under their names.
        take_over: also entries that another lake registered, with whom it granted them to.

    Raises:
        CatalogError: the catalogue cannot be reached, or refuses.
    """
    if not catalog.has_grants:
        return ()
    there = {table.place: table for table in registered}
    pairs = [
        (one, found)
        for one in wanted
        if (found := there.get(one.place)) is None or is_ours(found.lake, lake, take_over=take_over)
    ]
    return tuple(_standings(catalog, pairs))


def _standings(
    catalog: Catalog, pairs: Sequence[tuple[CatalogTable, CatalogTable | None]]
) -> Iterator[Standing]:
    for table, found in pairs:
        if noted_readers(table) or (found and noted_readers(found)):
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
