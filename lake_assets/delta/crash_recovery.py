"""Logs after a power cut or a copy: newest commits that are not there whole are set aside.

A file that was new when the power went may be empty or end early afterwards; a copy that was made
while rows were written may have a commit and not its files. Readers take an empty commit for one
that did nothing, and whoever appends to it builds on rows that are not there. Looked at once after
each start of the machine, and at a folder that was not here before, before anything is read. Rows
of a commit that is set aside come again from their source: positions are in the commits themselves.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.delta.log_tail import actions_of, last_checkpoint, newest_version, path_of
from lake_assets.delta.table_log import LAST_CHECKPOINT, TableLog, log_of, table_folders
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import TableRef
from lake_assets.runtime.atomic_write import replace_bytes, replace_text
from lake_assets.runtime.file_lock import lock
from lake_assets.storage.store import Store

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SetAside:
    """A file of a table's log that is not whole."""

    table: TableRef
    file: str
    why: str


def recover_after_crash(lake: Store, state_dir: Path, boot_id: str) -> list[SetAside]:
    """Look at the ends of a lake's logs, once of each since the machine started.

    Args:
        lake: the store at its root.
        state_dir: where it is noted for which start of the machine, and of which logs, this was
            done; what is set aside goes to `torn` below it.
        boot_id: of this start of the machine.

    Returns:
        What was set aside.

    Raises:
        LakeError: a commit is torn that later ones stand on.
    """
    state_dir.mkdir(parents=True, exist_ok=True)
    with lock(state_dir / "recovery.lock"):  # a second one would take what the first has mended
        return _recover_all(lake, state_dir, boot_id)


def _recover_all(lake: Store, state_dir: Path, boot_id: str) -> list[SetAside]:
    note = state_dir / "checked_logs.json"
    done = _noted(note, boot_id)
    set_aside: list[SetAside] = []
    seen: dict[str, _Mark] = {}
    for table in table_folders(lake):
        log, aside = log_of(lake, table), _Aside(table, state_dir / "torn" / table.relative)
        set_aside += _recover(log, aside, _known_version(log, done.get(table.relative)))
        if mark := _mark_of(log):
            seen[table.relative] = mark
    for log_file in set_aside:
        _LOG.warning(
            "%s: %s was set aside, since it %s",
            log_file.table.name,
            log_file.file,
            log_file.why,
            extra={"table": log_file.table.name},
        )
    if seen != done:
        replace_text(note, json.dumps({"boot": boot_id, "logs": seen}))
    return set_aside


def newest_whole_version(log: TableLog) -> int | None:
    """A table's newest version that a torn end of its log leaves; None if there is no table.

    Reads only: what `recover_after_crash` would set aside is passed over. Looks back to the newest
    commit that changed rows or columns, as those before it reached the disk before.

    Raises:
        LakeError: the store cannot be read.
    """
    newest = _newest(log)
    if newest is None:
        return None
    whole, removed = newest, set[str]()
    for version in range(newest, -1, -1):
        look = _look(log, version, removed)
        removed |= look.removed
        if look.why:
            whole = version - 1
        elif not look.does_nothing:
            break
    return whole if whole >= 0 else None


_Mark: TypeAlias = tuple[int, str]
"""What tells a log from a copy that took its place: version and `FileStat.tag` of a commit."""


def _newest(log: TableLog) -> int | None:
    with suppress(FileNotFoundError):  # no table, or dropped meanwhile
        return newest_version(log)
    return None


def _mark_of(log: TableLog) -> _Mark | None:
    newest = _newest(log)
    return None if newest is None else _mark_at(log, newest)


def _mark_at(log: TableLog, version: int) -> _Mark | None:
    stat = log.store.stat(log.commit_file(version))
    return None if stat is None else (version, stat.tag)


def _known_version(log: TableLog, mark: _Mark | None) -> int:
    """Up to which version a log was looked at; -1 if it no longer has that very commit."""
    return mark[0] if mark is not None and _mark_at(log, mark[0]) == mark else -1


def _noted(note: Path, boot_id: str) -> Mapping[str, _Mark]:
    """Which logs were looked at since the machine started."""
    try:
        noted = json.loads(note.read_text())
        marks = noted["logs"] if noted["boot"] == boot_id else {}
        return {name: (int(version), str(tag)) for name, (version, tag) in marks.items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _recover(log: TableLog, aside: "_Aside", known: int) -> Iterator[SetAside]:
    """Look at a log above the version that is known to be whole."""
    newest = _newest(log)
    if newest is None or newest == known:
        return
    yield from _drop_torn_checkpoint(log, aside)
    is_end, later, removed = True, list[int](), set[str]()
    for version in range(newest, max(_first(log), known + 1) - 1, -1):
        look = _look(log, version, removed)
        if not look.why:
            later.append(version)
            removed |= look.removed
            is_end = is_end and look.does_nothing
        elif log.has(newest + 1):
            return  # somebody writes here, in whose sight nothing was lost
        elif is_end:
            for empty in later:
                yield aside.take(log, log.commit_file(empty), "stands on a torn one")
            later.clear()
            yield aside.take(log, log.commit_file(version), look.why)
        elif look.is_torn:
            raise LakeError(
                str(log.commit_file(version)),
                f"{look.why}, and later commits stand on it",
                "Restore the table from a backup; silver and gold can be derived again "
                "(`lake-assets rebuild silver`, `rebuild gold`)",
            )
        else:  # who reads the file fails; the other rows are there
            _LOG.warning("%s %s", log.commit_file(version), look.why)
            removed |= look.removed


def _drop_torn_checkpoint(log: TableLog, aside: "_Aside") -> Iterator[SetAside]:
    """Set a log's newest checkpoint aside if it is not whole: commits tell the same."""
    version = last_checkpoint(log).get("version")
    file = log.file(f"{version or 0:020}.checkpoint.parquet")
    if version is None or log.store.stat(file) is None:
        return
    try:
        with log.store.open_for_reading(file) as source:
            pq.read_metadata(source)
    except (OSError, pa.ArrowException):
        yield aside.take(log, log.file(LAST_CHECKPOINT), "names a torn one")
        yield aside.take(log, file, "is torn")


def _first(log: TableLog) -> int:
    """The oldest version to look at: those before the newest checkpoint reached the disk."""
    return int(last_checkpoint(log).get("version") or -1) + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Look:
    """What was found of a commit."""

    why: str = ""
    """What is not whole; empty if nothing is, or the commit was swept away."""

    is_torn: bool = False
    """Whether the commit itself is not whole, and not a file that it names."""

    removed: AbstractSet[str] = frozenset()
    """Files that it removes."""

    does_nothing: bool = True
    """Whether it changes neither rows nor columns: how far streams are may be all it tells."""


def _look(log: TableLog, version: int, removed: AbstractSet[str]) -> _Look:
    """Look at a commit.

    Args:
        log: of the table.
        version: of the commit.
        removed: files that later commits remove.
    """
    try:
        actions = list(actions_of(log, version))
    except FileNotFoundError:
        return _Look()
    except ValueError:
        return _Look(why="is torn", is_torn=True)
    if not actions:
        return _Look(why="is empty", is_torn=True)
    added = [action for kind, action in actions if kind == "add"]
    active = (action for action in added if action["path"] not in removed)
    lost = [action["path"] for action in active if not _is_whole(log, action)]
    gone = {action["path"] for kind, action in actions if kind == "remove"}
    does_nothing = all(kind in {"commitInfo", "txn"} for kind, _ in actions)
    why = f"names {lost[0]}, which is not whole" if lost else ""
    return _Look(why=why, removed=gone, does_nothing=does_nothing)


def _is_whole(log: TableLog, add: dict[str, Any]) -> bool:
    try:
        file = log.data_file(path_of(add))
    except LakeError:
        return True  # in another store, as a shallow clone's files may be
    stat = log.store.stat(file)
    return stat is not None and stat.size == add["size"]


@dataclass(frozen=True, slots=True)
class _Aside:
    """Where a table's files go that are not whole."""

    table: TableRef
    folder: Path

    def take(self, log: TableLog, file: LakeUri, why: str) -> SetAside:
        """Move a file of the log there; the state may be on another disk."""
        with suppress(FileNotFoundError):  # another process that starts now was quicker
            content = log.store.get(file)
            replace_bytes(self.folder / file.name, content)
            log.store.delete(file)
        return SetAside(self.table, file.name, why)
