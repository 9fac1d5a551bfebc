"""The table that a feed reads, and how far the feed's index is in it."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import SourceError, SourceNotFoundError, first_line
from lake_assets.model.delta_source import DeltaSource
from lake_assets.model.lake_uri import LakeUri
from lake_assets.sources.delta.versions import FileOrigin
from lake_assets.sources.files.index import rows_of_index
from lake_assets.storage.local import LocalStore
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """How far an index is."""

    table: str
    version: int


def log_of_source(source: DeltaSource) -> TableLog:
    """The log of the table that is read."""
    return TableLog(LocalStore.at(Path(source.path)), LakeUri.local(Path(source.path)))


def reached(lake: Store, feed: str) -> Reached | None:
    """How far the index of a feed is; None if it has nothing.

    Raises:
        LakeError: the index cannot be read.
        SourceError: it is of files that the feed read before.
    """
    last = None
    for rows in rows_of_index(lake, feed, ("first", "counted_as")):
        # Later versions have later offsets; of those with the same, all are looked at.
        latest = rows.filter(pc.equal(rows["first"], pc.max(rows["first"])))
        for text in latest["counted_as"].to_pylist():
            told = FileOrigin.of(text or "")
            if told is None:
                fact = "has an index of another source than a Delta table"
                raise SourceError(f"feed {feed!r}", fact, "Give the new source a feed of its own")
            if last is None or told.version > last.version:
                last = Reached(table=told.table, version=told.version)
    return last


def open_source(source: DeltaSource, lake: Store, known: Reached | None) -> DeltaTable:
    """The table at its newest version, if it can be read and is the one that was read before.

    Raises:
        SourceNotFoundError: there is none.
        SourceError: it is a table of this lake, another one, or cannot be read.
        TableFeatureError: it has features that are not supported here.
    """
    if lake.root.overlaps(Path(source.path)):
        fact = "is in this lake, or has it in it, and what a feed writes it must not read again"
        raise SourceError(source.title, fact, "Derive tables of the lake by gold views")
    try:
        handle = log_of_source(source).open()
    except TableNotFoundError:
        raise SourceNotFoundError(source.title, "is not there", "Create it") from None
    except DeltaError as problem:
        fact = f"cannot be opened ({first_line(problem)})"
        raise SourceError(source.title, fact, "See to the table") from problem
    ensure_usable(handle, Use.READ)
    table, version = str(handle.metadata().id), handle.version()
    if known is not None and table != known.table:
        fact = f"is another table (id {table}) than was read so far ({known.table})"
        raise SourceError(source.title, fact, "Give the new table a feed of its own")
    if known is not None and version < known.version:
        fact = f"is at version {version}, and was read up to {known.version} already"
        raise SourceError(source.title, fact, "Put back the newest copy of the table")
    return handle


def records_changes(table: DeltaTable) -> bool:
    """Whether who changes rows of a table records how: its change data feed is on."""
    return table.metadata().configuration.get("delta.enableChangeDataFeed", "").lower() == "true"
