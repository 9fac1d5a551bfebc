"""Logs after a power cut: a newest commit that did not reach the disk whole is set aside.

A file that was new when the power went may be empty or end early afterwards. Readers take an empty
commit for one that did nothing, and whoever appends to it builds on rows that are not there. Looked
at once after each start of the machine, before anything is read. Rows of a commit that is set aside
come again from their source: positions are in the commits themselves.
"""

import logging
from collections.abc import Iterator
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
    """Look at the ends of all logs of a lake, unless that was done since the machine started.

    Args:
        lake: its folder.
        state_dir: where it is noted for which start of the machine this was done; what is set
            aside goes to `torn` below it.
        boot_id: of this start of the machine.

    Returns:
        What was set aside.

    Raises:
        LakeError: a commit is torn that later ones stand on.
    """
    done_for = state_dir / "checked_boot"
    if done_for.exists() and done_for.read_text() == boot_id:
        return []
    found = [one for log in sorted(lake.glob("*/*/_delta_log")) for one in _recover(log, state_dir)]
    for one in found:
        _LOG.warning("%s: %s was set aside, since it %s", one.table, one.file, one.why)
    replace_text(done_for, boot_id)
    return found


def _recover(log: Path, state_dir: Path) -> Iterator[SetAside]:
    table, aside = log.parent, state_dir / "torn" / log.parent.parent.name / log.parent.name
    yield from _drop_torn_checkpoint(table, aside)
    try:
        newest = newest_version(table)
    except FileNotFoundError:
        return
    is_end = True
    for version in range(newest, _first(table) - 1, -1):
        why = _what_is_wrong(table, version)
        if not why:
            is_end = False
        elif is_end:
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


def _what_is_wrong(table: Path, version: int) -> str:
    """What is not whole of a commit; empty if nothing is, or if it is not there any more."""
    try:
        actions = list(actions_of(table, version))
    except FileNotFoundError:
        return ""
    except ValueError:
        return "is torn"
    if not actions:
        return "is empty"
    added = [action for kind, action in actions if kind == "add"]
    lost = [action["path"] for action in added if not _is_whole(table, action)]
    return f"names {lost[0]}, which is not whole" if lost else ""


def _is_whole(table: Path, add: dict[str, Any]) -> bool:
    path = table / unquote(add["path"])
    # One that is gone may have been removed and vacuumed since.
    return not path.exists() or path.stat().st_size == add["size"]


def _set_aside(table: Path, file: Path, aside: Path, why: str) -> SetAside:
    aside.mkdir(parents=True, exist_ok=True)
    file.replace(aside / file.name)
    return SetAside(table, file.name, why)
