"""Whose a table is: the feed, and the key and view of it, that it was created for.

A table's name does not tell: `gold_chess_player_agg` is what a view `player_agg` of a key `chess`
has, and a view `agg` of a key `chess_player`. So each table records its owner in its properties.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import (
    EVERY_KEY,
    TableRef,
    bronze_of,
    duplicates_of,
    erased_of,
    gold_of_all,
    quarantine_of,
    waiting_of,
)

_FEED, _KEY, _VIEW = "lake_assets.feed", "lake_assets.key", "lake_assets.view"
_LAYER, _TABLE = "lake_assets.layer", "lake_assets.table"


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """What a table was created for."""

    feed: str
    key: str = ""
    """Of silver, and of a view with a table a key; empty else."""

    view: str = ""
    """Of gold; empty else."""

    def __str__(self) -> str:
        """In words."""
        parts = [f"view {self.view!r}"] if self.view else []
        parts += [f"key {self.key!r}"] if self.key else []
        return " of ".join([*parts, f"feed {self.feed!r}"])

    @property
    def tables(self) -> tuple[TableRef, ...]:
        """The tables that an owner of this kind has, where nothing else is said of their names."""
        if self.view and not self.key:
            return (gold_of_all(self.feed, self.view),)
        if self.view:
            return (_DEFAULT.gold_of(self.key, self.view),)
        if self.key:
            return (_DEFAULT.silver_of(self.key),)
        aside = (waiting_of, duplicates_of, erased_of, quarantine_of)
        return bronze_of(self.feed), *(one(self.feed) for one in aside)

    def properties(self, table: TableRef) -> dict[str, str]:
        """The properties of one of its tables that record it."""
        fields = {
            _FEED: self.feed,
            _KEY: self.key,
            _VIEW: self.view,
            _LAYER: table.layer.value,
            _TABLE: table.name,
        }
        return {name: value for name, value in fields.items() if value}

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self | None:
        """Read an owner from a table's properties; None if they record none."""
        if _FEED not in properties:
            return None
        return cls(
            feed=properties[_FEED], key=properties.get(_KEY, ""), view=properties.get(_VIEW, "")
        )


_DEFAULT = TableNames()
"""The names of releases that knew no others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnerRecord:
    """What a table's properties say of whose it is; a copy of the table says the same."""

    owner: Owner
    table: str = ""
    """The table's own name; empty if a release recorded it that knew only the default names."""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self | None:
        """Read a table's properties; None if they record no owner."""
        owner = Owner.of(properties)
        return None if owner is None else cls(owner=owner, table=properties.get(_TABLE, ""))

    def is_about(self, table: TableRef) -> bool:
        """Whether it was made for this table, and not for one that this is a copy of."""
        return self.table == table.name if self.table else table in self.owner.tables


def owner_of_view(feed: Feed, view: str, scope: str) -> Owner:
    """The owner of a view's table for a key, or for `EVERY_KEY`."""
    return Owner(feed=feed.feed, key="" if scope == EVERY_KEY else scope, view=view)


def owner_of_silver(feed: Feed, key: str) -> Owner:
    """The owner of a key's silver table: of several feeds that fill it, the one that declares."""
    return Owner(feed=tables_owner(feed), key=key)


def claims_of(feed: Feed, keys: Iterable[str]) -> Iterator[tuple[TableRef, Owner]]:
    """The tables that a feed has with these keys, each with its owner; a table may come twice."""
    keys = tuple(keys)
    owner = Owner(feed=feed.feed)
    yield from ((table, owner) for table in owner.tables)
    if index := feed.source.index_of(feed.feed):
        yield index, owner
    for view in feed.gold:
        if view.is_over_all:
            yield feed.gold_table(view, EVERY_KEY), owner_of_view(feed, view.name, EVERY_KEY)
    for key in keys:
        yield from claims_of_key(feed, key)


def claims_of_key(feed: Feed, key: str) -> Iterator[tuple[TableRef, Owner]]:
    """The tables that a feed has for one of its keys, silver first, each with its owner."""
    yield feed.silver_table(key), owner_of_silver(feed, key)
    for view in feed.gold:
        if not view.is_over_all:
            yield feed.gold_table(view, key), owner_of_view(feed, view.name, key)
