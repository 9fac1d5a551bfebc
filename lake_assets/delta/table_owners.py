"""Whose a lake's tables are, as their properties say: read cheaply, and recorded where missing.

A table is created with the record, so its first commit tells, or its last checkpoint once that
commit was swept away; only a table that got its record later must be opened. The record does not
change afterwards. Whose a table should be is `model.owners`'.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from lake_assets.delta.log_tail import actions_of, last_checkpoint
from lake_assets.delta.table_log import local_log
from lake_assets.errors import LakeError, TableOwnedError, first_line
from lake_assets.model.owners import Owner, OwnerRecord
from lake_assets.model.tables import Layer, TableRef


def owner_of(lake: Path, table: TableRef) -> Owner | None:
    """Whose a table is; None if it records none, or is not there.

    What the copy of a table records is another table's owner, and tells nothing of the copy.

    Raises:
        LakeError: the table's log cannot be read.
    """
    folder = table.path(lake)
    now = _identity(folder)
    if now is None:
        return None
    known = _KNOWN.get(folder)
    if known is None or not known.holds(now):
        known = _Known(identity=now, owner=_read(folder, table))
        _KNOWN[folder] = known
    return known.owner


def is_copy(lake: Path, table: TableRef) -> bool:
    """Whether what a table records is another table's: its folder was copied or moved by hand.

    Raises:
        LakeError: the table's log cannot be read.
    """
    return owner_of(lake, table) is None and any(_records(table.path(lake)))


def is_there(lake: Path, table: TableRef) -> bool:
    """Whether there is such a table, by its folder alone."""
    return (table.path(lake) / "_delta_log").is_dir()


def owners_in(lake: Path, layer: Layer) -> dict[TableRef, Owner | None]:
    """The tables of a layer, sorted by name, with their owners; None of those that record none.

    Raises:
        LakeError: a table's log cannot be read.
    """
    owners = {table: owner_of(lake, table) for table in _tables_in(lake, layer)}
    return dict(sorted(owners.items()))


def claim(lake: Path, table: TableRef, owner: Owner | None) -> None:
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
        with _LOCK, _telling(table.path(lake), "written"):
            _record(table.path(lake), owner.properties(table))
    elif holder != owner:
        raise TableOwnedError(str(table.path(lake)), owner=str(owner), holder=str(holder))


def _record(folder: Path, properties: dict[str, str]) -> None:
    # A process may have died before the first commit: then there is nothing yet to be claimed.
    with suppress(TableNotFoundError):
        DeltaTable(folder).alter.set_table_properties(properties, raise_if_not_exists=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Identity:
    """What tells a table from one that was dropped and created again."""

    inode: tuple[int, int]
    created_ns: int
    """When its first commit was made; 0 once that was swept away."""

    log_ns: int
    """When its newest commit was made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What this process has read of a table."""

    identity: _Identity
    owner: Owner | None

    def holds(self, now: _Identity) -> bool:
        """Whether it is still so: a record stays, and one that is missing may come any time."""
        was = self.identity if self.owner is None else replace(self.identity, log_ns=now.log_ns)
        return was == now


_KNOWN: dict[Path, _Known] = {}
"""By folder of the table."""

_LOCK = threading.Lock()
"""Two threads that adopt one table would be a conflict."""


def _identity(folder: Path) -> _Identity | None:
    """None if there is no table.

    Inodes are used again, so the time of the first commit belongs to it. A table whose first commit
    was swept away is at least as old as Delta keeps logs.
    """
    log, first = _stat(folder / "_delta_log"), _stat(local_log(folder).commit_file(0).as_path())
    if log is None:
        return None
    return _Identity(
        inode=(log.st_dev, log.st_ino),
        created_ns=first.st_mtime_ns if first else 0,
        log_ns=log.st_mtime_ns,
    )


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _read(folder: Path, table: TableRef) -> Owner | None:
    """What a table records of itself; a copy's first commit is about what it is a copy of."""
    return next((record.owner for record in _records(folder) if record.is_about(table)), None)


def _records(folder: Path) -> Iterator[OwnerRecord]:
    """What a table's log says of whose it is, and of which table it says so; the cheapest first."""
    with _telling(folder, "read"):
        for read in (_of_first_commit, _of_checkpoint, _of_table):
            record = OwnerRecord.of(read(folder))
            if record is not None:
                yield record


@contextmanager
def _telling(folder: Path, done: str) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError, ValueError, KeyError, pa.ArrowException) as problem:
        raise LakeError(
            str(folder),
            f"its log cannot be {done} ({first_line(problem)})",
            "Check the folder and the disk",
        ) from problem


def _of_first_commit(folder: Path) -> Mapping[str, str]:
    try:
        actions = actions_of(local_log(folder), 0)
        return next((action["configuration"] for kind, action in actions if kind == "metaData"), {})
    except FileNotFoundError:
        return {}


def _of_checkpoint(folder: Path) -> Mapping[str, str]:
    version = int(last_checkpoint(local_log(folder)).get("version") or 0)
    path = folder / "_delta_log" / f"{version:020}.checkpoint.parquet"
    if not version or not path.exists():
        return {}
    actions = pq.read_table(path, columns=["metaData"])["metaData"].drop_null().to_pylist()
    return next((dict(action["configuration"]) for action in actions), {})


def _of_table(folder: Path) -> Mapping[str, str]:
    try:
        return DeltaTable(folder).metadata().configuration
    except TableNotFoundError:
        return {}


def _tables_in(lake: Path, layer: Layer) -> Iterator[TableRef]:
    folder = lake / layer.value
    if folder.is_dir():
        names = (path.name for path in folder.iterdir() if (path / "_delta_log").is_dir())
        yield from (TableRef(layer=layer, name=name) for name in names)
