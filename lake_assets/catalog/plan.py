"""Deciding what a catalogue lacks of a lake, and what it has too much. Pure.

What is registered already and as it should be is left alone; so is whatever is not of this lake.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lake_assets.catalog.entries import CatalogTable


class Do(StrEnum):
    """What is done to an entry."""

    CREATE_DATABASE = "create database"
    CREATE = "create"
    UPDATE = "update"
    DROP = "drop"  # the entry alone: files are never touched


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One thing to do."""

    do: Do
    database: str

    table: CatalogTable | None = None
    """As it should be; of what is dropped, as it is; None of a database."""

    why: str

    @property
    def name(self) -> str:
        """What it is done to."""
        return self.table.full_name if self.table else self.database


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """A table that cannot be registered, since its name there is somebody else's."""

    name: str
    why: str

    def __str__(self) -> str:
        """For people."""
        return f"{self.name} {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is to be done, in this order."""

    actions: tuple[Action, ...]
    conflicts: tuple[Conflict, ...]
    unchanged: int


def plan(
    lake: str,
    wanted: Sequence[CatalogTable],
    registered: Sequence[CatalogTable],
    databases: Collection[str],
    *,
    take_over: bool = False,
) -> Plan:
    """Compare what should be registered with what is.

    Args:
        lake: id of the lake.
        wanted: all of its tables.
        registered: what the catalogue has, whoever's it is, as far as it is of interest.
        databases: of the catalogue.
        take_over: also entries that another lake registered under these names.
    """
    there = {table.place: table for table in registered}
    actions, conflicts, unchanged = [], [], 0
    places: dict[tuple[str, str], CatalogTable] = {}
    for table in wanted:
        twin = places.setdefault(table.place, table)
        if twin is not table:
            why = f"would be both {twin.location} and {table.location}"
            conflicts.append(Conflict(name=table.full_name, why=why))
            continue
        found = there.get(table.place)
        if found is not None and not is_ours(found.lake, lake, take_over=take_over):
            conflicts.append(Conflict(name=table.full_name, why=_whose(found)))
        elif found is None:
            actions.append(_action(Do.CREATE, table, "is new"))
        elif difference := _difference(found, table):
            actions.append(_action(Do.UPDATE, table, difference))
        else:
            unchanged += 1
    # Before what is new: a place that has another name now may be registered only once.
    dropped = [
        _action(Do.DROP, table, "is not in the lake under this name")
        for table in registered
        if table.lake == lake and table.place not in places
    ]
    made = _databases(places.values(), databases)
    return Plan(
        actions=(*made, *dropped, *actions), conflicts=tuple(conflicts), unchanged=unchanged
    )


def _action(do: Do, table: CatalogTable, why: str) -> Action:
    return Action(do=do, database=table.database, table=table, why=why)


def _databases(wanted: Collection[CatalogTable], there: Collection[str]) -> Iterator[Action]:
    known = {name.lower() for name in there}
    for name in sorted({table.database for table in wanted}):
        if name.lower() not in known:
            yield Action(do=Do.CREATE_DATABASE, database=name, why="is not there")


def is_ours(owner: str, lake: str, *, take_over: bool) -> bool:
    """Whether a lake may change an entry, which is that of the lake `owner`; empty of nobody's."""
    return owner == lake or bool(take_over and owner)


def _whose(found: CatalogTable) -> str:
    if found.lake:
        return f"is registered by lake {found.lake}, at {found.location}"
    return f"is registered by somebody else, at {found.location or 'no place'}"


def _difference(found: CatalogTable, wanted: CatalogTable) -> str:
    """What is not as it should be, in words; empty if nothing is."""
    if found.location != wanted.location:
        return f"is at {wanted.location}, not {found.location}"
    if columns := _columns(found, wanted):
        return columns
    if found.comment != wanted.comment:
        return "has another description"
    changed = _changed(found.properties, wanted.properties)
    return f"has other properties: {', '.join(changed)}" if changed else ""


def _columns(found: CatalogTable, wanted: CatalogTable) -> str:
    was = {column.name.lower(): column for column in found.columns}
    now = {column.name.lower(): column for column in wanted.columns}
    for name, column in now.items():
        if name not in was:
            return f"has a new column {column.name}"
        if was[name].type != column.type:
            return f"has {column.name} as {column.type}, not {was[name].type}"
    if gone := [column.name for name, column in was.items() if name not in now]:
        return f"has no column {gone[0]} any more"
    if list(was) != list(now):
        return "has its columns in another order"
    for name, column in now.items():
        if was[name].comment != column.comment:
            return f"has another description of {column.name}"
    return ""


def _changed(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))
