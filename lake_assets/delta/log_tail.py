"""The end of a Delta log, read without opening the table: its newest version and what that did.

Opening a table replays its log and parses the statistics of all its files, 2 to 6 ms of CPU for a
small one; whoever asks a thousand tables whether anything is new need not. What is not told here,
deltalake tells. Format: the Delta protocol's "Delta Log Entries" and "Last Checkpoint File",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lake_assets.delta.commit import TABLE_ID, DataFile
from lake_assets.delta.put_if_absent import commit_file


@dataclass(frozen=True, kw_only=True, slots=True)
class LogTail:
    """A table's newest commit."""

    version: int
    info: Mapping[str, str]
    """Custom metadata of it, and what else it tells in texts."""

    added: tuple[DataFile, ...]
    """The files it added."""

    @property
    def table_id(self) -> str:
        """That Delta gave the table; empty if the commit does not tell."""
        return self.info.get(TABLE_ID, "")


def log_tail_of(folder: Path) -> LogTail | None:
    """The newest commit of the table in `folder`; None if only opening the table can tell."""
    try:
        version = newest_version(folder)
        actions = list(actions_of(folder, version))
    except (OSError, ValueError):
        return None
    commit_info: Mapping[str, object] = next(
        (action for kind, action in actions if kind == "commitInfo"), {}
    )
    return LogTail(
        version=version,
        info=texts_of(commit_info),
        added=tuple(file_of(action) for kind, action in actions if kind == "add"),
    )


def actions_of(folder: Path, version: int) -> Iterator[tuple[str, Any]]:
    """What a version's commit did: the kinds of its actions and what they say.

    Raises:
        FileNotFoundError: the log has no such version, or no longer.
        ValueError: the commit is no JSON.
    """
    for line in commit_file(folder, version).read_text().splitlines():
        yield from json.loads(line).items()


def file_of(action: Mapping[str, Any]) -> DataFile:
    """The file that an `add` adds to an unpartitioned table."""
    stats = action.get("stats") or "{}"
    rows = json.loads(stats).get("numRecords") or 0
    return DataFile(path=unquote(action["path"]), size=action["size"], rows=rows, stats=stats)


def texts_of(told: Mapping[str, object]) -> Mapping[str, str]:
    """What a commit's own information says in texts: custom metadata among it."""
    return {key: value for key, value in told.items() if isinstance(value, str)}


def files_of_checkpoint(folder: Path) -> int:
    """How many files the newest checkpoint of a table names; 0 if nothing tells."""
    return int(last_checkpoint(folder).get("numOfAddFiles") or 0)


def newest_version(folder: Path) -> int:
    """A table's newest version, looked for from its newest checkpoint on.

    Raises:
        FileNotFoundError: there is no such table.
    """
    version = int(last_checkpoint(folder).get("version") or 0)
    if version == 0 and not commit_file(folder, 0).exists():
        version = _newest_listed(folder / "_delta_log")
    while commit_file(folder, version + 1).exists():
        version += 1
    return version


def _newest_listed(log: Path) -> int:
    names = (path.name.split(".")[0] for path in log.iterdir())
    versions = [int(name) for name in names if name.isdigit()]
    if not versions:
        raise FileNotFoundError(log)
    return max(versions)


LAST_CHECKPOINT = "_last_checkpoint"
"""The file of a log that names its newest checkpoint."""


def last_checkpoint(folder: Path) -> Mapping[str, Any]:
    """What the log notes of it; nothing if there is none yet, or none that can be read."""
    try:
        noted = json.loads((folder / "_delta_log" / LAST_CHECKPOINT).read_text())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
