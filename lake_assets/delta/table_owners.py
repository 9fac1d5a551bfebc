"""Whose a lake's tables are, as their properties say: read cheaply, and recorded where missing.

A table is created with the record, so its first commit tells, or its last checkpoint once that
commit was swept away; only a table that got its record later must be opened. The record does not
change afterwards. Whose a table should be is `model.owners`'.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError, TableNotFoundError

from lake_assets.delta.log_tail import actions_of, last_checkpoint, log_tail_of, newest_version
from lake_assets.delta.table_log import LAST_CHECKPOINT, TableLog, log_of, table_folders
from lake_assets.errors import LakeError, TableOwnedError, first_line
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.owners import Owner, OwnerRecord
from lake_assets.model.tables import Layer, TableRef
from lake_assets.storage.at_once import at_once
from lake_assets.storage.store import Store


def owner_of(lake: Store, table: TableRef) -> Owner | None:
    """Whose a table is; None if it records none, or is not there.

    What the copy of a table records is another table's owner, and tells nothing of the copy.

    Raises:
        LakeError: the table's log cannot be read.
    """
    log = log_of(lake, table)
    with _telling(log, "read"):
        known, tag = _KNOWN.get(log.folder), _tag(log)
        if tag is None:
            return None
        newest = newest_version(log) if known is None or known.owner is None else known.newest
        has_moved = known is None or (known.tag, known.newest) != (tag, newest)
        table_id = _table_id(log) if has_moved else ""
    if known is not None and known.owner is not None and table_id == known.table_id != "":
        # Another checkpoint of the same table: most are asked about each ten commits.
        _KNOWN[log.folder] = known = replace(known, tag=tag)
    elif known is None or has_moved:
        owner = _read(log, table)
        known = _Known(tag=tag, newest=newest, table_id=table_id, owner=owner)
        _KNOWN[log.folder] = known
    return known.owner


def is_copy(lake: Store, table: TableRef) -> bool:
    """Whether what a table records is another table's: its folder was copied or moved by hand.

    Raises:
        LakeError: the table's log cannot be read.
    """
    return owner_of(lake, table) is None and any(_records(log_of(lake, table)))


def is_there(lake: Store, table: TableRef) -> bool:
    """Whether there is such a table.

    Raises:
        LakeError: the lake cannot be read.
    """
    return log_of(lake, table).exists()


def owners_in(lake: Store, layer: Layer) -> dict[TableRef, Owner | None]:
    """The tables of a layer, sorted by name, with their owners; None of those that record none.

    Raises:
        LakeError: a table's log cannot be read.
    """
    tables = _tables_in(lake, layer)
    owners = at_once(lake, partial(owner_of, lake), tables)
    return dict(sorted(zip(tables, owners, strict=True)))


def claim(lake: Store, table: TableRef, owner: Owner | None) -> None:
    """Make sure that a table, if it is there, is its owner's; one that records none becomes so.

    Nothing is done for a table that has none, such as a log's.

    Raises:
        TableOwnedError: it is another one's.
        LakeError: the table's log cannot be read or written.
    """
    if owner is None or not is_there(lake, table):
        return
    holder = owner_of(lake, table)
    if holder is None:
        log = log_of(lake, table)
        with _LOCK, _telling(log, "written"):
            log.open().alter.set_table_properties(
                owner.properties(table), raise_if_not_exists=False
            )
    elif holder != owner:
        folder = log_of(lake, table).folder
        raise TableOwnedError(str(folder), owner=str(owner), holder=str(holder))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What this process has read of a table."""

    tag: str
    """Tells it from one that was dropped and created again."""

    newest: int
    """Its version when it was read: a record that is missing may come with any later one."""

    table_id: str
    """Delta's id of it; empty if its newest commit did not tell."""

    owner: Owner | None


_KNOWN: dict[LakeUri, _Known] = {}
"""By folder of the table."""

_LOCK = threading.Lock()
"""Two threads that adopt one table would be a conflict."""


def _tag(log: TableLog) -> str | None:
    """Of a table's first commit, or of what names its newest checkpoint once that was swept away.

    None if there is no table.
    """
    for file in (log.commit_file(0), log.file(LAST_CHECKPOINT)):
        stat = log.store.stat(file)
        if stat is not None:
            return stat.tag
    return "" if log.exists() else None


def _table_id(log: TableLog) -> str:
    tail = log_tail_of(log)
    return tail.table_id if tail is not None else ""


def _read(log: TableLog, table: TableRef) -> Owner | None:
    """What a table records of itself; a copy's first commit is about what it is a copy of."""
    return next((record.owner for record in _records(log) if record.is_about(table)), None)


def _records(log: TableLog) -> Iterator[OwnerRecord]:
    """What a table's log says of whose it is, and of which table it says so; the cheapest first."""
    with _telling(log, "read"):
        for read in (_of_first_commit, _of_checkpoint, _of_table):
            record = OwnerRecord.of(read(log))
            if record is not None:
                yield record


@contextmanager
def _telling(log: TableLog, done: str) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError, ValueError, KeyError, pa.ArrowException) as problem:
        raise LakeError(
            str(log.folder),
            f"its log cannot be {done} ({first_line(problem)})",
            "Check the folder and the disk",
        ) from problem


def _of_first_commit(log: TableLog) -> Mapping[str, str]:
    try:
        actions = actions_of(log, 0)
        return next((action["configuration"] for kind, action in actions if kind == "metaData"), {})
    except FileNotFoundError:
        return {}


def _of_checkpoint(log: TableLog) -> Mapping[str, str]:
    version = int(last_checkpoint(log).get("version") or 0)
    checkpoint = log.file(f"{version:020}.checkpoint.parquet")
    if not version or log.store.stat(checkpoint) is None:
        return {}
    with log.store.open_for_reading(checkpoint) as source:
        actions = pq.read_table(source, columns=["metaData"])["metaData"].drop_null().to_pylist()
    return next((dict(action["configuration"]) for action in actions), {})


def _of_table(log: TableLog) -> Mapping[str, str]:
    try:
        return log.open().metadata().configuration
    except TableNotFoundError:
        return {}


def _tables_in(lake: Store, layer: Layer) -> list[TableRef]:
    tables = list(table_folders(lake, [layer]))
    there = at_once(lake, partial(is_there, lake), tables)
    return [table for table, is_one in zip(tables, there, strict=True) if is_one]
