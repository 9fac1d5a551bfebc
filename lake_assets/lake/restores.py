"""Delta's RESTORE: a table that was put back to an older version by a commit of its own.

Its rows are those of before, and its application transactions stay those of after: how far a table
is in its sources is then told by the version that it was put back to. What follows is the caller's
to decide. Reads logs only.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.lake.change import TABLE_ID
from lake_assets.lake.files import active_files
from lake_assets.lake.kafka_offsets import Offsets, offsets_of_rows, table_offsets
from lake_assets.lake.paths import folder_of, for_deltalake
from lake_assets.lake.tail import actions_of

_RESTORE = "RESTORE"


def is_restored(folder: Path, newest: int, after: int = -1) -> bool:
    """Whether a RESTORE is among a table's commits since one of ours.

    Args:
        folder: of the table.
        newest: its version.
        after: a version that is known, which the look back ends at.
    """
    return any(_operation(told) == _RESTORE for _, told in _since_ours(folder, newest, after))


def held_offsets(handle: DeltaTable, topic: str) -> Offsets:
    """How far a table's rows are in a topic; unlike `table_offsets` after a RESTORE, too."""
    folder = folder_of(handle)
    version = _version_of_rows(folder, handle.version())
    if version == handle.version():
        return table_offsets(handle, topic)
    if version is not None:
        try:
            return table_offsets(DeltaTable(for_deltalake(folder), version=version), topic)
        except DeltaError:
            pass  # the log has forgotten the version; the rows are there
    found = offsets_of_rows(folder, active_files(handle))
    return {place: offset for place, offset in found.items() if place[0] == topic}


def _version_of_rows(folder: Path, version: int) -> int | None:
    """Of which version the transactions tell of a version's rows; None if nothing tells."""
    for at, told in _since_ours(folder, version, -1):
        if _operation(told) == _RESTORE:
            restored = told.get("operationParameters", {}).get("version")
            # Put back to a version that is no older there is none to ask.
            known = restored is not None and str(restored).isdigit() and int(restored) < at
            return _version_of_rows(folder, int(restored)) if known else None
    return version


def _since_ours(folder: Path, newest: int, after: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """What the commits since the newest of ours tell of themselves, the newest first."""
    for version in range(newest, after, -1):
        try:
            told = _told(actions_of(folder, version))
        except FileNotFoundError:
            return
        if TABLE_ID in told:
            return
        yield version, told


def _told(actions: Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    return next((action for kind, action in actions if kind == "commitInfo"), {})


def _operation(told: Mapping[str, Any]) -> object:
    return told.get("operation")
