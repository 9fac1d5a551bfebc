"""The end of a Delta log, read without opening the table: its newest version and what that did.

Opening a table replays its log and parses the statistics of all its files, 2 to 6 ms of CPU for a
small one; whoever asks a thousand tables whether anything is new need not. What is not told here,
deltalake tells. Format: the Delta protocol's "Delta Log Entries" and "Last Checkpoint File",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from lake_assets.delta.commit import TABLE_ID, DataFile, is_encoded
from lake_assets.delta.table_log import LAST_CHECKPOINT, TableLog
from lake_assets.errors import LakeError


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


def log_tail_of(log: TableLog) -> LogTail | None:
    """The newest commit of a table; None if only opening the table can tell."""
    try:
        version = newest_version(log)
        actions = list(actions_of(log, version))
    except (LakeError, OSError, ValueError):
        return None
    commit_info: Mapping[str, object] = next(
        (action for kind, action in actions if kind == "commitInfo"), {}
    )
    return LogTail(
        version=version,
        info=texts_of(commit_info),
        added=tuple(file_of(action) for kind, action in actions if kind == "add"),
    )


def actions_of(log: TableLog, version: int) -> Iterator[tuple[str, Any]]:
    """What a version's commit did: the kinds of its actions and what they say.

    Raises:
        FileNotFoundError: the log has no such version, or no longer.
        LakeError: the commit cannot be read.
        ValueError: the commit is no JSON.
    """
    # Lines of bytes: a text's end at some characters, too, that may stand in a JSON string.
    for line in log.commit(version).splitlines():
        yield from json.loads(line).items()


def path_of(action: Mapping[str, Any]) -> str:
    """The file that an `add` or a `remove` is about, not encoded, as `TableLog.data_file` takes it.

    A path below the table, or the address of a file elsewhere.
    """
    return unquote(action["path"])


def file_of(action: Mapping[str, Any]) -> DataFile:
    """The file that an `add` adds to a table."""
    stats = action.get("stats") or "{}"
    rows = json.loads(stats).get("numRecords") or 0
    logged = action["path"] if is_encoded(action["path"]) else ""
    size, path = action["size"], path_of(action)
    partition = action.get("partitionValues") or {}
    return DataFile(
        path=path, size=size, rows=rows, stats=stats, partition=partition, logged=logged
    )


def texts_of(told: Mapping[str, object]) -> Mapping[str, str]:
    """What a commit's own information says in texts: custom metadata among it."""
    return {key: value for key, value in told.items() if isinstance(value, str)}


def info_at(log: TableLog, version: int) -> Mapping[str, str]:
    """What a version's commit says of itself in texts.

    Raises:
        FileNotFoundError: the log has no such version any more.
        LakeError: it cannot be read.
    """
    actions = list(actions_of(log, version))
    return next((texts_of(told) for kind, told in actions if kind == "commitInfo"), {})


def files_of_checkpoint(log: TableLog) -> int:
    """How many files the newest checkpoint of a table names; 0 if nothing tells."""
    return int(last_checkpoint(log).get("numOfAddFiles") or 0)


def newest_version(log: TableLog) -> int:
    """A table's newest version, looked for from its newest checkpoint on.

    Raises:
        FileNotFoundError: there is no such table.
        LakeError: its log cannot be read.
    """
    version = int(last_checkpoint(log).get("version") or 0)
    if not log.folder.is_local:
        # There a list costs what one look does.
        return _newest_listed(log, version)
    if not log.has(version + 1) and not log.has(version):
        # There is no table, or what is noted is older than the log: another checkpoint came late.
        version = _newest_listed(log, version)
    while log.has(version + 1):
        version += 1
    return version


def _newest_listed(log: TableLog, since: int) -> int:
    names = (name.split(".")[0] for name in log.names_from(f"{since:020}"))
    versions = [int(name) for name in names if name.isdecimal()]
    if not versions:
        raise FileNotFoundError(str(log.folder))
    return max(versions)


def last_checkpoint(log: TableLog) -> Mapping[str, Any]:
    """What the log notes of it; nothing if there is none yet, or none that can be read."""
    try:
        noted = json.loads(log.store.get(log.file(LAST_CHECKPOINT)))
    except (LakeError, OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
