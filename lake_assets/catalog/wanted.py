"""What should be registered of a lake: its tables as they are now, and where their rows come from.

Registered is what has rows for people: not the tables that a feed keeps for itself (the index of
its files, rows on their way to bronze), nor copies of tables, which record no owner of their own.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from lake_assets.catalog.entries import (
    LAKE,
    OWNER,
    PARTITIONED_BY,
    SOURCE,
    UPSTREAM,
    CatalogColumn,
    CatalogTable,
    database_of,
)
from lake_assets.catalog.grants import with_readers
from lake_assets.catalog.types import type_in_words
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_owners import owners_in
from lake_assets.gold.column_lineage import ViewWords
from lake_assets.model.feeds import Feed
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.owners import Owner
from lake_assets.model.tables import (
    EVERY_KEY,
    GAPS,
    QUALITY_LOG,
    SCHEMA_LOG,
    STATE,
    STREAM_LOG,
    Layer,
    TableRef,
    duplicates_of,
    erased_of,
    files_of,
    landed_of,
    waiting_of,
)
from lake_assets.model.upstream import upstream_of
from lake_assets.settings.catalog import CatalogSettings
from lake_assets.settings.schema import Settings
from lake_assets.silver.noted_columns import in_words, noted_columns_of
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store

_LOGS = {
    QUALITY_LOG: "How each batch of each key fared with each expectation, of all feeds.",
    STREAM_LOG: "What each batch and each refresh did and how long it took, of all feeds.",
    GAPS: "Which offsets were passed over, since their source had them no more, of all feeds.",
    SCHEMA_LOG: "Which columns silver's tables have had, since when and why, of all feeds.",
}

_AT_ONCE = 8
"""Tables whose logs are read at once: a bucket answers slowly, and to any number of questions."""


def wanted_tables(settings: Settings, feeds: Sequence[Feed]) -> tuple[CatalogTable, ...]:
    """All tables of a lake that a catalogue should have, sorted by layer and name.

    Raises:
        LakeError: a table's log cannot be read.
        ForeignStateError: as `lake_id`.
    """
    lake = lake_of(settings)
    told = _Told(settings=settings, lake=lake, id=lake_id(settings), feeds=_Feeds(lake, feeds))
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        found = threads.map(lambda one: _schema_of(lake, one[0]), tables := [*_tables(lake)])
        return tuple(
            with_readers(feeds, _entry(told, table, owner, schema))
            for (table, owner), schema in zip(tables, found, strict=True)
            if schema is not None
        )


@dataclass(frozen=True, slots=True)
class _Schema:
    columns: tuple[CatalogColumn, ...]
    partition_by: tuple[str, ...]


class _Feeds:
    """The declared feeds, and the words of their views."""

    def __init__(self, lake: Store, feeds: Sequence[Feed]) -> None:
        self._words = {feed.feed: (feed, ViewWords(lake, feed)) for feed in feeds}

    def feed(self, name: str) -> Feed | None:
        found = self._words.get(name)
        return found[0] if found else None

    def words(self, feed: Feed, table: TableRef, scope: str) -> Mapping[str, str]:
        return self._words[feed.feed][1].of_table(table, scope)

    def all(self) -> list[Feed]:
        return [feed for feed, _ in self._words.values()]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    settings: Settings
    lake: Store
    id: str
    feeds: _Feeds

    @property
    def catalog(self) -> CatalogSettings:
        return self.settings.catalog


def _tables(lake: Store) -> Iterator[tuple[TableRef, Owner | None]]:
    for layer in Layer:
        for table, owner in owners_in(lake, layer).items():
            if table in _LOGS or (owner is not None and table not in _kept_for_itself(owner)):
                yield table, owner


def _kept_for_itself(owner: Owner) -> tuple[TableRef, ...]:
    return files_of(owner.feed), landed_of(owner.feed), waiting_of(owner.feed)


def _schema_of(lake: Store, table: TableRef) -> _Schema | None:
    """As the newest version has it; None of a table that is gone meanwhile."""
    handle = open_table(lake, table)
    if handle is None:
        return None
    fields = (json.loads(field.to_json()) for field in handle.schema().fields)
    return _Schema(
        columns=tuple(_column(field) for field in fields if not field["name"].startswith(STATE)),
        partition_by=tuple(handle.metadata().partition_columns),
    )


def _column(field: Mapping[str, object]) -> CatalogColumn:
    metadata = field.get("metadata")
    comment = metadata.get("comment", "") if isinstance(metadata, dict) else ""
    return CatalogColumn(
        name=str(field["name"]),
        type=type_in_words(field["type"]),
        comment=str(comment),
        field=json.dumps(field),
    )


def _entry(told: _Told, table: TableRef, owner: Owner | None, schema: _Schema) -> CatalogTable:
    feed = told.feeds.feed(owner.feed) if owner else None
    properties = {
        LAKE: told.id,
        OWNER: told.catalog.owner,
        PARTITIONED_BY: ",".join(schema.partition_by),
        **(owner.properties(table) if owner else {}),
    }
    words: Mapping[str, str] = {}
    if owner is not None and feed is not None:
        scope = owner.key or EVERY_KEY
        read = upstream_of(feed, told.feeds.all(), table, owner)
        properties[UPSTREAM] = ",".join(_name(told, one) for one in read)
        if table.layer is Layer.BRONZE:
            properties[SOURCE] = feed.source.declared.title
        if table.layer is Layer.SILVER:
            words = in_words(noted_columns_of(told.settings, feed, owner.key))
        else:
            words = told.feeds.words(feed, table, scope)
    return CatalogTable(
        database=database_of(told.catalog.databases, table.layer),
        name=table.name,
        columns=tuple(
            replace(one, comment=one.comment or words.get(one.name, "")) for one in schema.columns
        ),
        location=(told.lake.root / table.relative).for_catalogs(),
        comment=_comment(table, owner, feed),
        properties={name: value for name, value in properties.items() if value},
    )


def _name(told: _Told, table: TableRef) -> str:
    if table.outside:
        return LakeUri.parse(table.outside).for_catalogs()
    return f"{database_of(told.catalog.databases, table.layer)}.{table.name}"


def _comment(table: TableRef, owner: Owner | None, feed: Feed | None) -> str:
    if owner is None:
        return _LOGS[table]
    beside = {
        duplicates_of(owner.feed): f"Which rows of feed {owner.feed} are duplicates, and of which.",
        erased_of(owner.feed): f"Where rows of feed {owner.feed} were that are erased.",
    }
    if table in beside:
        return beside[table]
    whose = f"key {owner.key} of feed {owner.feed}" if owner.key else f"feed {owner.feed}"
    match table.layer:
        case Layer.BRONZE:
            return f"Rows of feed {owner.feed} as they came, with their origin."
        case Layer.QUARANTINE:
            return f"Rows of feed {owner.feed} that were refused, with the reason."
        case Layer.SILVER:
            return f"Decoded rows of {whose}."
        case _:
            views = feed.gold if feed else ()
            said = next((one.description for one in views if one.name == owner.view), None)
            return said or f"View {owner.view} of {whose}."
