"""Logs after a power cut or a copy: newest commits that are not there whole are set aside.

A file that was new when the power went may be empty or end early afterwards; a copy that was made
while rows were written may have a commit and not its files. Readers take an empty commit for one
that did nothing, and whoever appends to it builds on rows that are not there. Looked at once after
each start of the machine, and at a folder that was not here before, before anything is read. Rows
of a commit that is set aside come again from their source: positions are in the commits themselves.
"""

import json
import logging
import re
import shutil
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.delta.log_tail import LAST_CHECKPOINT, actions_of, last_checkpoint, newest_version
from lake_assets.delta.table_log import local_log
from lake_assets.delta.table_paths import from_address
from lake_assets.errors import LakeError
from lake_assets.model.tables import Layer
from lake_assets.runtime.atomic_write import replace_text

_LOG = logging.getLogger(__name__)

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:/")
"""How a file's name begins that is not below its table's folder."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A file of a table's log that is not whole."""

    table: Path
    file: str
    why: str


def recover_after_crash(lake: Path, state_dir: Path, boot_id: str) -> list[SetAside]:
    """Look at the ends of a lake's logs, once of each since the machine started.

    Args:
        lake: its folder.
        state_dir: where it is noted for which start of the machine, and of which logs, this was
            done; what is set aside goes to `torn` below it.
        boot_id: of this start of the machine.

    Returns:
        What was set aside.

    Raises:
        LakeError: a commit is torn that later ones stand on.
    """
    note = state_dir / "checked_logs.json"
    done = _noted(note, boot_id)
    tables = [log.parent for layer in Layer for log in sorted(lake.glob(f"{layer}/*/_delta_log"))]
    set_aside = [
        entry
        for table in tables
        for entry in _recover(table, state_dir, _known_version(table, done.get(_name(table))))
    ]
    for log_file in set_aside:
        _LOG.warning(
            "%s: %s was set aside, since it %s", log_file.table, log_file.file, log_file.why
        )
    seen = {_name(table): mark for table in tables if (mark := _mark_of(table))}
    if seen != done:
        replace_text(note, json.dumps({"boot": boot_id, "logs": seen}))
    return set_aside


_Mark: TypeAlias = list[int]
"""What tells a log from a copy that took its place: version, inode and change time of a commit."""


def _commit_file(table: Path, version: int) -> Path:
    return local_log(table).commit_file(version).as_path()


def _name(table: Path) -> str:
    return f"{table.parent.name}/{table.name}"


def _newest(table: Path) -> int | None:
    with suppress(FileNotFoundError):  # dropped meanwhile
        return newest_version(local_log(table))
    return None


def _mark_of(table: Path) -> _Mark | None:
    with suppress(FileNotFoundError):
        return _mark_at(table, newest_version(local_log(table)))
    return None


def _mark_at(table: Path, version: int) -> _Mark:
    status = _commit_file(table, version).stat()
    return [version, status.st_ino, status.st_ctime_ns]


def _known_version(table: Path, mark: _Mark | None) -> int:
    """Up to which version a log was looked at; -1 if it no longer has that very commit."""
    with suppress(FileNotFoundError):
        if mark is not None and _mark_at(table, mark[0]) == mark:
            return mark[0]
    return -1


def _noted(note: Path, boot_id: str) -> Mapping[str, _Mark]:
    """Which logs were looked at since the machine started."""
    try:
        noted = json.loads(note.read_text())
        return noted["logs"] if noted["boot"] == boot_id else {}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {}


def _recover(table: Path, state_dir: Path, known: int) -> Iterator[SetAside]:
    """Look at a log above the version that is known to be whole."""
    aside = state_dir / "torn" / table.parent.name / table.name
    newest = _newest(table)
    if newest is None or newest == known:
        return
    yield from _drop_torn_checkpoint(table, aside)
    is_end, later, removed = True, list[int](), set[str]()
    for version in range(newest, max(_first(table), known + 1) - 1, -1):
        look = _look(table, version, removed)
        if not look.why:
            later.append(version)
            removed |= look.removed
            is_end = is_end and look.does_nothing
        elif _commit_file(table, newest + 1).exists():
            return  # somebody writes here, in whose sight nothing was lost
        elif is_end:
            for empty in later:
                yield _set_aside(table, _commit_file(table, empty), aside, "stands on a torn one")
            later.clear()
            yield _set_aside(table, _commit_file(table, version), aside, look.why)
        elif look.is_torn:
            raise LakeError(
                str(_commit_file(table, version)),
                f"{look.why}, and later commits stand on it",
                "Restore the table from a backup; silver and gold can be derived again "
                "(`lake-assets rebuild silver`, `rebuild gold`)",
            )
        else:  # who reads the file fails; the other rows are there
            _LOG.warning("%s %s", _commit_file(table, version), look.why)
            removed |= look.removed


def _drop_torn_checkpoint(table: Path, aside: Path) -> Iterator[SetAside]:
    """Set a log's newest checkpoint aside if it is not whole: commits tell the same."""
    version = last_checkpoint(local_log(table)).get("version")
    path = table / "_delta_log" / f"{version or 0:020}.checkpoint.parquet"
    if version is None or not path.exists():
        return
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        yield _set_aside(table, table / "_delta_log" / LAST_CHECKPOINT, aside, "names a torn one")
        yield _set_aside(table, path, aside, "is torn")


def _first(table: Path) -> int:
    """The oldest version to look at: those before the newest checkpoint reached the disk."""
    return int(last_checkpoint(local_log(table)).get("version") or -1) + 1


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


def _look(table: Path, version: int, removed: AbstractSet[str]) -> _Look:
    """Look at a commit.

    Args:
        table: its folder.
        version: of the commit.
        removed: files that later commits remove.
    """
    try:
        actions = list(actions_of(local_log(table), version))
    except FileNotFoundError:
        return _Look()
    except ValueError:
        return _Look(why="is torn", is_torn=True)
    if not actions:
        return _Look(why="is empty", is_torn=True)
    added = [action for kind, action in actions if kind == "add"]
    active = (action for action in added if action["path"] not in removed)
    lost = [action["path"] for action in active if not _is_whole(table, action)]
    gone = {action["path"] for kind, action in actions if kind == "remove"}
    does_nothing = all(kind in {"commitInfo", "txn"} for kind, _ in actions)
    why = f"names {lost[0]}, which is not whole" if lost else ""
    return _Look(why=why, removed=gone, does_nothing=does_nothing)


def _is_whole(table: Path, add: dict[str, Any]) -> bool:
    name = add["path"]
    if _ADDRESS.match(name) and not name.startswith("file:"):
        return True  # elsewhere, as a shallow clone's files may be
    path = from_address(name) if _ADDRESS.match(name) else table / unquote(name)
    return path.exists() and path.stat().st_size == add["size"]


def _set_aside(table: Path, file: Path, aside: Path, why: str) -> SetAside:
    aside.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # another process that starts now was quicker
        shutil.move(file, aside / file.name)  # the state may be on another disk
    return SetAside(table, file.name, why)
