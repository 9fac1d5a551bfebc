"""Delta's RESTORE: a table that was put back to an older version by a commit of its own.

Its rows are those of before, and its application transactions stay those of after: how far a table
is in its sources is then told by the version that it was put back to. What follows is the caller's
to decide. Reads logs only.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.commit import LAID_OUT, TABLE_ID
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_tail import actions_of
from lake_assets.delta.source_offsets import (
    Offsets,
    begun_offsets,
    offsets_of_rows,
    table_offsets,
)
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError
from lake_assets.model.origins import NamedSource
from lake_assets.model.tables import Layer, TableRef
from lake_assets.storage.store import Store

_RESTORE = "RESTORE"

_DERIVED = {Layer.GOLD, Layer.LOG}
"""Layers of tables that nobody is followed by: whoever writes them looks at what they stand for."""


def is_restored(log: TableLog, newest: int, after: int = -1) -> bool:
    """Whether a RESTORE is among a table's commits since one of ours.

    Args:
        log: of the table.
        newest: its version.
        after: a version that is known, which the look back ends at.
    """
    return any(is_restore(info) for _, info in _since_ours(log, newest, after))


def is_restore(info: Mapping[str, Any]) -> bool:
    """Whether a commit's information is that of a RESTORE."""
    return info.get("operation") == _RESTORE


@dataclass(frozen=True, slots=True)
class RestoreGuard:
    """Refuses a table that was restored since our last commit to it. Thread-safe."""

    store: Store
    _accepted: dict[TableRef, int] = field(default_factory=dict)

    def accept(self, tables: Mapping[TableRef, int]) -> None:
        """Let pass what was restored up to these versions: the caller goes by it."""
        self._accepted.update(tables)

    def ensure_unrestored(self, table: TableRef, version: int) -> None:
        """Make sure that a table was not restored between our last commit and a version.

        Raises:
            LakeError: it was. Nothing of ours may follow: who looks back ends at our last commit.
        """
        if table.layer in _DERIVED:
            return
        after = self._accepted.get(table, -1)
        if is_restored(log_of(self.store, table), version, after):
            raise LakeError(
                table.name,
                "was put back to an older version (RESTORE) since rows were last added",
                "Start again: what it lacks by now is found out then",
            )


def held_offsets(
    log: TableLog,
    handle: DeltaTable,
    sources: Sequence[NamedSource],
    recorded: Offsets | None = None,
) -> Offsets:
    """How far a table's rows are in sources; unlike `table_offsets` after a RESTORE, too.

    It has the partitions that `table_offsets` has: one of which no row is there has the offset at
    which its first was to be read.

    Args:
        log: of the table.
        handle: the table.
        sources: that it may have rows of, all of one kind.
        recorded: its `table_offsets`, if they are known: with thousands of partitions they cost.
    """
    if recorded is None:
        recorded = recorded_of(handle, sources)
    version = _version_of_rows(log, handle.version())
    if version == handle.version() or not recorded:
        return recorded
    offsets = _offsets_at(log, version, sources)
    if offsets is None:
        offsets = offsets_of_rows(log, active_files(handle), sources[0].origin)
    first = begun_offsets(handle, sources[0].kind, recorded)
    return {place: offsets.get(place, first[place]) for place in recorded}


def recorded_of(handle: DeltaTable, sources: Sequence[NamedSource]) -> Offsets:
    """How far a table's commits say that it is in some sources."""
    found = (table_offsets(handle, source.kind, source.name) for source in sources)
    return {place: offset for offsets in found for place, offset in offsets.items()}


def _offsets_at(
    log: TableLog, version: int | None, sources: Sequence[NamedSource]
) -> Offsets | None:
    """What a version's transactions tell; None if the log has forgotten it."""
    if version is None:
        return None
    try:
        handle = log.open(version)
    except DeltaError:
        return None
    return recorded_of(handle, sources)


def _version_of_rows(log: TableLog, version: int) -> int | None:
    """Of which version the transactions tell of a version's rows; None if nothing tells."""
    for at, info in _since_ours(log, version, -1):
        if is_restore(info):
            restored = info.get("operationParameters", {}).get("version")
            # Put back to a version that is no older there is none to ask.
            known = restored is not None and str(restored).isdecimal() and int(restored) < at
            return _version_of_rows(log, int(restored)) if known else None
    return version


def _since_ours(log: TableLog, newest: int, after: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """What the commits since the newest of ours tell of themselves, the newest first.

    One that laid the table out is none that ends it: nobody looked whether its rows were all there.
    """
    for version in range(newest, after, -1):
        try:
            info = _told(actions_of(log, version))
        except FileNotFoundError:
            return
        if TABLE_ID in info and LAID_OUT not in info:
            return
        yield version, info


def _told(actions: Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    return next((action for kind, action in actions if kind == "commitInfo"), {})
