"""Deleting what a table's log has of versions that nobody needs any more.

Which versions are needed is the caller's to say. What is left always begins with a checkpoint, and
the newest commits that recovery reads stay whatever their age.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.commit import APP_ID
from lake_assets.delta.log_tail import actions_of, last_checkpoint, newest_version
from lake_assets.delta.table_features import features_of
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError

_CHECKPOINT = ".checkpoint.parquet"

_SWEEPS = "delta.enableExpiredLogCleanup"
"""Table property: whether a log may be cleaned up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OldLog:
    """What may be deleted of a log."""

    upto: int
    """The version that the log then begins with; it has a checkpoint."""

    files: tuple[str, ...]
    """Names of files of older versions, the oldest first."""


def version_at(log: TableLog, since: float, now: float) -> int:
    """The version that a table had at a time, by when its commits were written; 0 if none tells.

    Of commits that are not in the order of their times (a clock was set back) the first that is
    newer counts, so that too much is kept and not too little. One that is dated after now, by a
    clock that was ahead, is as old as the next: else it would keep all after it until then.

    Args:
        log: of the table.
        since: seconds since 1970.
        now: likewise.
    """
    version = 0
    for number, name in _commits(log):
        stat = log.store.stat(log.file(name))
        if stat is None or since <= stat.modified_ns / 1e9 <= now:
            break
        if stat.modified_ns / 1e9 < since:
            version = number
    return version


def old_log(log: TableLog, handle: DeltaTable, needed: int, *, batches: int) -> OldLog | None:
    """What a table's log has of versions below one that is needed; None if nothing may go.

    Args:
        log: of the table.
        handle: the table, as new as can be.
        needed: the oldest version that must be readable.
        batches: the newest commits of streams' batches that stay besides.

    Raises:
        LakeError: the store cannot be read.
    """
    may_sweep = handle.metadata().configuration.get(_SWEEPS, "true") == "true"
    if not may_sweep or features_of(handle).keeps_checkpoints:
        return None
    needed = min(needed, _batches_back(log, batches))
    upto = max((version for version in _checkpoints(log) if version <= needed), default=None)
    # Who looks for the newest version begins at the checkpoint that is noted.
    if upto is None or int(last_checkpoint(log).get("version") or 0) < upto:
        return None
    names = [(int(n.split(".")[0]), n) for n in log.names_from() if n.split(".")[0].isdecimal()]
    old = tuple(name for version, name in sorted(names) if version < upto)
    return OldLog(upto=upto, files=old) if old else None


def delete_old_log(log: TableLog, old: OldLog) -> None:
    """Delete what `old_log` found; a process that dies on its way leaves the newer part.

    Raises:
        LakeError: the store cannot be written, or the checkpoint that is to stay is damaged.
    """
    checkpoint = log.file(f"{old.upto:020}{_CHECKPOINT}")
    log.store.sync(checkpoint)
    try:
        with log.store.open_for_reading(checkpoint) as source:
            pq.read_metadata(source)
    except pa.ArrowException as problem:
        raise LakeError(
            str(checkpoint),
            f"is damaged ({problem})",
            "Delete it: the commits that it sums up are there, and none of them was deleted",
        ) from problem
    for name in old.files:
        log.store.delete(log.file(name))


def _commits(log: TableLog) -> Iterator[tuple[int, str]]:
    for name in log.names_from():
        number, _, kind = name.partition(".")
        if number.isdecimal() and kind == "json":
            yield int(number), name


def _checkpoints(log: TableLog) -> list[int]:
    names = (name for name in log.names_from() if name.endswith(_CHECKPOINT))
    return [int(name.removesuffix(_CHECKPOINT)) for name in names if name.count(".") == 2]  # noqa: PLR2004 - neither in parts nor of version 2


def _batches_back(log: TableLog, batches: int) -> int:
    """The version of so many batches ago, or of the oldest commit that there is."""
    version = newest_version(log)
    for version in range(newest_version(log), -1, -1):
        if not batches:
            break
        try:
            actions = list(actions_of(log, version))
        except FileNotFoundError:
            break
        batches -= any(kind == "commitInfo" and APP_ID in told for kind, told in actions)
    return version
