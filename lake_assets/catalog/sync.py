"""Bringing a catalogue up to date with a lake: look, decide by `plan`, act; likewise of grants."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lake_assets.catalog.base import Catalog
from lake_assets.catalog.entries import CatalogTable, database_of
from lake_assets.catalog.grants import Standing
from lake_assets.catalog.permissions import grant, revoke, standings
from lake_assets.catalog.plan import Action, Conflict, Do, is_ours, plan
from lake_assets.catalog.wanted import wanted_tables
from lake_assets.errors import CatalogError, SettingsError
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer
from lake_assets.settings.catalog import CatalogKind, CatalogSettings
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """What was done, or would be."""

    catalog: str
    """Which, in words."""

    actions: tuple[Action, ...]
    conflicts: tuple[Conflict, ...]
    unchanged: int

    grants: tuple[Standing, ...]
    """Of tables, whom they were granted to or taken from."""


def open_catalog(settings: Settings) -> AbstractContextManager[Catalog]:
    """The catalogue of the settings; nothing is asked yet.

    Raises:
        SettingsError: there is none, or what it needs is not installed.
    """
    # Each brings a library that no other command needs.
    match settings.catalog.kind:
        case CatalogKind.UNITY:
            from lake_assets.catalog.unity import UnityCatalog  # noqa: PLC0415

            return UnityCatalog(settings.catalog)
        case CatalogKind.GLUE:
            from lake_assets.catalog.glue import GlueCatalog  # noqa: PLC0415

            return GlueCatalog(settings.catalog)
        case CatalogKind.HIVE:
            from lake_assets.catalog.hive import HiveCatalog  # noqa: PLC0415

            return HiveCatalog(settings.catalog)
        case _:
            step = "Set it to unity, glue or hive, and where that is"
            raise SettingsError("LAKE_ASSETS_CATALOG_KIND", "is not set", step)


def sync(
    settings: Settings, feeds: Sequence[Feed], *, take_over: bool = False, dry_run: bool = False
) -> Synced:
    """Register what is new, correct what changed, and take out what is gone from the lake.

    One that is cut off anywhere leaves entries that are whole; the next one does the rest.

    Args:
        settings: of the lake and its catalogue.
        feeds: all that are declared.
        take_over: also entries that another lake registered under these names.
        dry_run: do nothing, and tell what would be done.

    Raises:
        SettingsError: as `open_catalog`.
        CatalogError: the catalogue cannot be reached, or refuses.
        LakeError: a table's log cannot be read.
    """
    with open_catalog(settings) as catalog:
        look = _look(settings, feeds, catalog)
        decided = plan(look.lake, look.wanted, look.there, look.databases, take_over=take_over)
        granted = standings(catalog, look.lake, look.wanted, look.there, take_over=take_over)
        if not dry_run:
            revoke(catalog, granted)
            for action in decided.actions:
                _act(catalog, action, look.lake, take_over=take_over)
            grant(catalog, granted)
        return Synced(
            catalog=catalog.title,
            actions=decided.actions,
            conflicts=decided.conflicts,
            unchanged=decided.unchanged,
            grants=tuple(one for one in granted if one.missing or one.surplus),
        )


def look_at_grants(settings: Settings, feeds: Sequence[Feed]) -> tuple[Standing, ...]:
    """How tables stand with those who may read them.

    Raises:
        CatalogError: as `sync`; or the catalogue keeps no permissions.
    """
    with open_catalog(settings) as catalog:
        if not catalog.has_grants:
            fact = "keeps no permissions that engines ask for"
            step = "Govern the files: `lake-assets grants show --s3-policies`"
            raise CatalogError(catalog.title, fact, step)
        look = _look(settings, feeds, catalog)
        return standings(catalog, look.lake, look.wanted, look.there)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Look:
    lake: str
    wanted: Sequence[CatalogTable]
    there: Sequence[CatalogTable]
    databases: Mapping[str, str]


def _look(settings: Settings, feeds: Sequence[Feed], catalog: Catalog) -> _Look:
    tables = wanted_tables(settings, feeds)
    lake, databases = lake_id(settings), catalog.databases()
    places = _looked_at(settings.catalog, lake, databases)
    return _Look(
        lake=lake,
        wanted=[catalog.fitted(table) for table in tables],
        there=[table for name in places for table in catalog.tables(name)],
        databases=databases,
    )


def registered_tables(settings: Settings) -> tuple[CatalogTable, ...]:
    """What the catalogue has of this lake, sorted; raises as `sync`."""
    lake = lake_id(settings)
    with open_catalog(settings) as catalog:
        places = _looked_at(settings.catalog, lake, catalog.databases())
        found = (table for name in places for table in catalog.tables(name))
        return tuple(sorted((t for t in found if t.lake == lake), key=lambda t: t.place))


def _looked_at(settings: CatalogSettings, lake: str, databases: Mapping[str, str]) -> list[str]:
    """The databases where tables are to be, and where this lake's once were."""
    asked_for = {database_of(settings.databases, layer) for layer in Layer}
    return [name for name, by in databases.items() if by == lake or name.lower() in asked_for]


def _act(catalog: Catalog, action: Action, lake: str, *, take_over: bool) -> None:
    if action.do in {Do.UPDATE, Do.DROP} and action.table is not None:
        # The look was before all that was done until now: minutes, where there are many tables.
        owner = catalog.lake_of(action.table)
        if owner is not None and not is_ours(owner, lake, take_over=take_over):
            fact = "is somebody else's since a moment ago, and was left alone"
            raise CatalogError(action.name, fact, "Run it again; nothing was lost")
    match action:
        case Action(do=Do.CREATE_DATABASE):
            catalog.create_database(action.database, lake)
        case Action(do=Do.CREATE, table=CatalogTable() as table):
            catalog.create(table)
        case Action(do=Do.UPDATE, table=CatalogTable() as table):
            catalog.update(table)
        case Action(do=Do.DROP, table=CatalogTable() as table):
            catalog.drop(table)
