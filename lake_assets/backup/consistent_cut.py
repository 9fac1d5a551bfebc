"""Versions of a lake's tables that fit together, chosen while streams and refreshes go on.

Quarantine's newest whole batch tells up to where each silver table is taken, and how far bronze
must reach; of gold the newest version is taken that stands for silver in the cut. So whoever
restores it finds no half batch. Where no such versions are found (tables that do not fit
together, a requeue that was cut off, files that were deleted since) the newest are taken, and that
is told: the first start of the streams finishes, undoes or refuses what it would have here. Reads
logs only.
"""

import json
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.backup.batch_versions import position_at, version_before
from lake_assets.backup.gold_cut import GoldCut
from lake_assets.backup.lake_tables import feed_of, tables_in
from lake_assets.backup.lost_notes import losses_between, noted_losses
from lake_assets.backup.shared_cut import shared_cut
from lake_assets.delta.crash_recovery import newest_whole_version
from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum, numbers_of, recorded_checksum
from lake_assets.errors import LakeError, first_line
from lake_assets.model.tables import (
    Layer,
    TableRef,
    duplicates_of,
    erased_of,
    files_of,
    landed_of,
    waiting_of,
)
from lake_assets.silver.demux_position import (
    demux_app,
    reprocess_app,
    skip_app,
)
from lake_assets.storage.store import Store

_TRIES = 5
_PAUSE_S = 1.0
"""Looks at a lake in which a requeue or a rebuild commits, which takes seconds, and the pause."""

_THREADS = 8
"""Tables that are opened at once."""

JOURNAL = "_change.json"
"""Of a requeue or a rebuild, in the folder of the quarantine table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """What is copied."""

    versions: Mapping[TableRef, int]
    journals: Mapping[TableRef, str] = field(default_factory=dict)
    """By quarantine table, the journal of a requeue or a rebuild that was cut off."""

    losses: Mapping[TableRef, str] = field(default_factory=dict)
    """By quarantine table, in words, what became of rows of its feed that silver lacks."""

    notes: tuple[str, ...] = ()
    """In words, what does not fit together, or is lacking."""


def choose_versions(lake: Store, pause: Callable[[float], None] = time.sleep) -> Cut:
    """The versions to copy.

    Raises:
        LakeError: a table cannot be read; it is named.
    """
    for tries_left in reversed(range(_TRIES)):
        before = noted_losses(lake)
        cut = _Look(lake, before).cut()
        if not cut.notes or not tries_left:
            losses = losses_between(before, noted_losses(lake))
            told = (f"{fact}: its streams wait for `rebuild silver`" for fact in losses.values())
            return replace(cut, losses=losses, notes=(*cut.notes, *told))
        pause(_PAUSE_S)
    raise AssertionError


class _Look:
    """One look at all tables: quarantine first, then what it tells of, then bronze, then gold."""

    def __init__(self, lake: Store, lost: Collection[TableRef]) -> None:
        """`lost` are quarantine tables of feeds that derive all of their rows again anyway."""
        self._lake, self._lost = lake, lost
        self._handles: dict[TableRef, DeltaTable] = {}
        self._journals: dict[TableRef, str] = {}
        self._notes: list[str] = []
        self._kept: set[TableRef] = set()
        """What is taken as it is, since files of older versions were deleted."""

    def cut(self) -> Cut:
        quarantines = tables_in(self._lake, [Layer.QUARANTINE])
        before = {table: self._journal(table) for table in quarantines}
        with ThreadPoolExecutor(_THREADS) as pool:
            self._open(pool, quarantines)
            # After quarantine, so that none is behind it.
            tables = tables_in(self._lake)
            new = {t for t in tables if t.layer is Layer.QUARANTINE} - {*quarantines}
            self._notes += [f"{t.relative} came while versions were chosen" for t in new]
            self._open(pool, [t for t in tables if t.layer is Layer.SILVER or _is_beside(t)])
            # What lost rows of a feed fits no batch of it, and is not taken back for that.
            whole = {t: handle for t, handle in self._handles.items() if t not in self._lost}
            shared = shared_cut(self._lake, whole, self._at)
            if any(self._lacks_files(table, handle) for table, handle in shared.items()):
                self._kept = {*shared}  # none is taken back for one feed alone
            else:
                self._handles.update(shared)
            for quarantine in quarantines:
                if (feed := feed_of(quarantine)) is not None and quarantine in self._handles:
                    self._fit(feed, quarantine, before[quarantine])
            bronze = [t for t in tables if t.layer is Layer.BRONZE]
            # An index of files knows more than bronze has, never less.
            self._open(pool, [t for t in bronze if not _is_index(t)])
            self._open(pool, [t for t in tables_in(self._lake, [Layer.BRONZE]) if _is_index(t)])
            # What bronze passes over is in a log before, which may have come since the look.
            self._open(pool, tables_in(self._lake, [Layer.LOG]))
            self._notes += [note for q in quarantines if (note := self._skipped_meanwhile(q))]
            silver = {t: h for t, h in self._handles.items() if t.layer is Layer.SILVER}
            gold = GoldCut(self._lake, silver)
            chosen = {t: gold.version(t) for t in tables if t.layer is Layer.GOLD}
            self._open(pool, chosen, lambda table: chosen[table])
        versions = {table: handle.version() for table, handle in sorted(self._handles.items())}
        return Cut(versions=versions, journals=self._journals, notes=tuple(self._notes))

    def _open(
        self,
        pool: ThreadPoolExecutor,
        tables: Iterable[TableRef],
        version_of: Callable[[TableRef], int | None] | None = None,
    ) -> None:
        """Open those of the tables that were not opened, at their newest whole versions."""

        def open_one(table: TableRef) -> DeltaTable | None:
            version = (version_of or self._newest)(table)
            return None if version is None else self._at(table, version)

        new = [table for table in tables if table not in self._handles]
        for table, handle in zip(new, pool.map(open_one, new), strict=True):
            if handle is not None:
                self._handles[table] = handle

    def _newest(self, table: TableRef) -> int | None:
        return newest_whole_version(log_of(self._lake, table))

    def _at(self, table: TableRef, version: int) -> DeltaTable:
        log = log_of(self._lake, table)
        try:
            return log.open(version)
        except DeltaError as problem:
            raise LakeError(
                str(log.folder),
                f"its version {version} cannot be read ({first_line(problem)})",
                "Repair or drop the table, then back up again",
            ) from problem

    def _fit(self, feed: str, quarantine: TableRef, before: str | None) -> None:
        """Take a feed's silver back to quarantine's newest whole batch.

        Args:
            feed: whose tables.
            quarantine: its table of refused rows.
            before: the journal that was there before any table was opened.
        """
        handle, journal = self._handles[quarantine], self._journal(quarantine)
        app_id, redo = demux_app(feed), reprocess_app(feed)
        # Of a change that came or went meanwhile, tables may have been opened before and after.
        is_one_change = before == journal
        # Quarantine's part is the last: with it the change is whole, and nothing is left to do.
        is_left = (handle.transaction_version(redo) or 0) < number_in(journal or "")
        if journal is not None and is_one_change and is_left:
            self._journals[quarantine] = journal
        position = position_at(log_of(self._lake, quarantine), handle, app_id)
        if position is None or quarantine in self._lost:
            return  # never begun; or the streams refuse these tables, as they are
        ours = {
            table: opened
            for table, opened in self._handles.items()
            if table != quarantine and opened.transaction_version(app_id)
        }
        fitting = {
            table: self._before(table, opened, app_id, position.number)
            for table, opened in ours.items()
        }
        others = {t: h for t, h in self._handles.items() if t.layer is not Layer.QUARANTINE}
        is_redone = quarantine in self._journals or (
            checksum(numbers_of(redo, {**others, **fitting})) == recorded_checksum(redo, handle)
        )
        if is_one_change and is_redone and checksum(numbers_of(app_id, fitting)) == position.tables:
            gone = [t for t, handle in fitting.items() if self._lacks_files(t, handle)]
            self._handles.update({t: h for t, h in fitting.items() if t not in gone})
            self._notes += [
                f"feed {feed}: a batch was cut off, and files of {table.relative} or of a table "
                "beside it from before were deleted since: the streams take its rows out of the "
                "restored lake, and take it again"
                for table in gone
            ]
            return
        self._notes.append(
            f"feed {feed}: its tables do not fit together as they are (a requeue was cut off, or a "
            "table was put back alone): the streams mend that, or refuse the restored lake until "
            "`lake-assets rebuild silver`, as they would here"
        )

    def _skipped_meanwhile(self, quarantine: TableRef) -> str:
        """A note if quarantine may lack rows of a batch that bronze has passed over since."""
        feed, opened = feed_of(quarantine), self._handles.get(quarantine)
        if feed is None or opened is None:
            return ""
        newest = self._newest(quarantine)
        now = opened if newest is None else self._at(quarantine, newest)
        numbers = [handle.transaction_version(skip_app(feed)) for handle in (opened, now)]
        is_same = numbers[0] == numbers[1]
        return "" if is_same else f"feed {feed}: a batch was skipped while tables were opened"

    def _before(self, table: TableRef, handle: DeltaTable, app_id: str, most: int) -> DeltaTable:
        """A table as it was before the first batch beyond a number."""
        if (handle.transaction_version(app_id) or 0) <= most:
            return handle
        version = version_before(log_of(self._lake, table), handle.version(), app_id, most)
        return handle if version is None else self._at(table, version)

    def _lacks_files(self, table: TableRef, handle: DeltaTable) -> bool:
        """Whether files of an older version than was opened were deleted: maintenance may."""
        log, opened = log_of(self._lake, table), self._handles[table]
        if handle.version() == opened.version():
            return False
        if table in self._kept:
            return True
        now = {file.path for file in active_files(opened)}
        return any(
            file.path not in now and self._lake.stat(log.data_file(file.path)) is None
            for file in active_files(handle)
        )

    def _journal(self, quarantine: TableRef) -> str | None:
        try:
            return self._lake.get(log_of(self._lake, quarantine).folder / JOURNAL).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as problem:
            raise LakeError(
                f"{log_of(self._lake, quarantine).folder}/{JOURNAL}",
                "is damaged",
                "Run `lake-assets rebuild silver`, then back up again",
            ) from problem


def _is_index(table: TableRef) -> bool:
    """Whether a table beside bronze says which offsets rows have."""
    feed, _, _ = table.name.removeprefix("bronze_").rpartition("_")
    return table in (files_of(feed), landed_of(feed))


def _is_beside(table: TableRef) -> bool:
    """Whether a table beside bronze is one of those that demux writes."""
    feed, _, _ = table.name.removeprefix("bronze_").rpartition("_")
    return table in (waiting_of(feed), duplicates_of(feed), erased_of(feed))


def number_in(journal: str) -> float:
    """The number of the change that a journal is of; beyond all others of a damaged one."""
    try:
        return int(json.loads(journal)["batch"]["version"])
    except (ValueError, KeyError, TypeError):
        return math.inf


def files_in(journal: str) -> dict[str, list[str]]:
    """By table (`TableRef.relative`), the files that a journal names; nothing of a damaged one."""
    try:
        noted = json.loads(journal)
        return {
            f"{part['layer']}/{part['name']}": [file["path"] for file in part["files"]]
            for part in noted["tables"]
        }
    except (ValueError, KeyError, TypeError):
        return {}
