"""Deciding who may read which registered table, and what of that a catalogue lacks. Pure.

A table's entry notes whom the lake granted it to: only those can lose it. Whoever was granted it
otherwise keeps it.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from lake_assets.catalog.entries import (
    FEED,
    GRANTED_TO,
    KEY,
    LAYER,
    CatalogTable,
    whole_property,
)
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How one table stands with those who may read it."""

    table: CatalogTable
    granted: Sequence[str]
    """Who has it, and should."""

    missing: Sequence[str]
    """Who should have it, and has not."""

    surplus: Sequence[str]
    """Who has it from the lake, and should not any more."""

    others: Sequence[str]
    """Who has it from somebody else."""


def readers_of(feeds: Sequence[Feed], table: CatalogTable) -> tuple[str, ...]:
    """Who may read a table by what its feed declares, sorted."""
    feed = next((one for one in feeds if one.feed == table.properties.get(FEED)), None)
    if feed is None:
        return ()
    layer, key = Layer(table.properties[LAYER]), table.properties.get(KEY, "")
    return tuple(sorted({one.principal for one in feed.grants if one.covers(layer, key)}))


def with_readers(feeds: Sequence[Feed], table: CatalogTable) -> CatalogTable:
    """A table that notes who may read it."""
    readers = readers_of(feeds, table)
    if not readers:
        return table
    return replace(table, properties={**table.properties, GRANTED_TO: ",".join(readers)})


def noted_readers(table: CatalogTable) -> tuple[str, ...]:
    """To whom a registered table was granted by its lake, as its entry notes."""
    return tuple(filter(None, whole_property(table.properties, GRANTED_TO).split(",")))


def standing(
    table: CatalogTable, registered: CatalogTable | None, readers: AbstractSet[str]
) -> Standing:
    """Compare who should read a table with who may.

    Args:
        table: as it should be.
        registered: as it is; None if it is not there.
        readers: who may read it.
    """
    should = set(noted_readers(table))
    from_lake = set(noted_readers(registered)) if registered else set()
    return Standing(
        table=table,
        granted=sorted(should & readers),
        missing=sorted(should - readers),
        surplus=sorted((from_lake - should) & readers),
        others=sorted(readers - should - from_lake),
    )


def by_principal(tables: Sequence[CatalogTable]) -> Mapping[str, list[CatalogTable]]:
    """By who may read some, the tables; both sorted."""
    principals = sorted({one for table in tables for one in noted_readers(table)})
    return {
        principal: [table for table in tables if principal in noted_readers(table)]
        for principal in principals
    }
