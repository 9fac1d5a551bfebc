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
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.errors import LakeError
from lake_assets.lake.put import commit_file
from lake_assets.lake.state import replace_text
from lake_assets.lake.tail import LAST_CHECKPOINT, actions_of, last_checkpoint, newest_version

_LOG = logging.getLogger(__name__)


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
        state_dir: where it is noted for which start of the machine, and of which folders, this was
            done; what is set aside goes to `torn` below it.
        boot_id: of this start of the machine.

    Returns:
        What was set aside.

    Raises:
        LakeError: a commit is torn that later ones stand on.
    """
    note = state_dir / "checked_logs.json"
    done = _noted(note, boot_id)
    # A folder that was copied, or put back from a copy, is another one to the file system.
    logs = {str(log.relative_to(lake)): log.stat().st_ino for log in lake.glob("*/*/_delta_log")}
    new = sorted(name for name, inode in logs.items() if done.get(name) != inode)
    if not new and note.exists():
        return []
    found = [one for name in new for one in _recover(lake / name, state_dir)]
    for one in found:
        _LOG.warning("%s: %s was set aside, since it %s", one.table, one.file, one.why)
    replace_text(note, json.dumps({"boot": boot_id, "logs": logs}))
    return found


def _noted(note: Path, boot_id: str) -> Mapping[str, int]:
    """Which logs were looked at since the machine started."""
    try:
        noted = json.loads(note.read_text())
        return noted["logs"] if noted["boot"] == boot_id else {}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {}


def _recover(log: Path, state_dir: Path) -> Iterator[SetAside]:
    table, aside = log.parent, state_dir / "torn" / log.parent.parent.name / log.parent.name
    yield from _drop_torn_checkpoint(table, aside)
    try:
        newest = newest_version(table)
    except FileNotFoundError:
        return
    is_end, later, removed = True, list[int](), set[str]()
    for version in range(newest, _first(table) - 1, -1):
        why, actions = _look(table, version, removed)
        if not why:
            later.append(version)
            is_end = is_end and not any(kind == "add" for kind, _ in actions)
        elif commit_file(table, newest + 1).exists():
            return  # somebody writes here, in whose sight nothing was lost
        elif is_end:
            for empty in later:
                yield _set_aside(table, commit_file(table, empty), aside, "stands on a torn one")
            later.clear()
            yield _set_aside(table, commit_file(table, version), aside, why)
        else:
            raise LakeError(
                str(commit_file(table, version)),
                f"{why}, and later commits stand on it",
                "Restore the table from a backup; silver and gold can be derived again "
                "(`lake-assets rebuild silver`, `rebuild gold`)",
            )


def _drop_torn_checkpoint(table: Path, aside: Path) -> Iterator[SetAside]:
    """Set a log's newest checkpoint aside if it is not whole: commits tell the same."""
    version = last_checkpoint(table).get("version")
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
    return int(last_checkpoint(table).get("version") or -1) + 1


def _look(table: Path, version: int, removed: set[str]) -> tuple[str, list[tuple[str, Any]]]:
    """What is not whole of a commit, and what it did; empty if nothing is, or it is swept away.

    Args:
        table: its folder.
        version: of the commit.
        removed: by later commits; what it removes itself comes to it.
    """
    try:
        actions = list(actions_of(table, version))
    except FileNotFoundError:
        return "", []
    except ValueError:
        return "is torn", []
    if not actions:
        return "is empty", []
    added = [action for kind, action in actions if kind == "add"]
    lost = [
        one["path"] for one in added if one["path"] not in removed and not _is_whole(table, one)
    ]
    removed |= {action["path"] for kind, action in actions if kind == "remove"}
    return f"names {lost[0]}, which is not whole" if lost else "", actions


def _is_whole(table: Path, add: dict[str, Any]) -> bool:
    path = table / unquote(add["path"])
    return path.exists() and path.stat().st_size == add["size"]


def _set_aside(table: Path, file: Path, aside: Path, why: str) -> SetAside:
    aside.mkdir(parents=True, exist_ok=True)
    file.replace(aside / file.name)
    return SetAside(table, file.name, why)
