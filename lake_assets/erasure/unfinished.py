"""Which old files of a lake's tables may be those of work that is not done, so that they stay.

A file that a commit named is nobody's any more once it left the table. One that none named may be a
batch's, a refresh's or a compaction's that is about to commit, or was left by one that was killed:
it stays while a journal names it, and until it has been known for an hour, which no batch takes, by
a clock that nobody sets. Maintenance notes such files, too. Who asks has the turn `REDO_TURN`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from lake_assets.delta.history_end import InUse, OldFile
from lake_assets.gold.view_turns import turn_of
from lake_assets.maintenance.unused_since import WATCHED_S, Since, UnusedSince
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer, TableRef
from lake_assets.runtime import file_lock
from lake_assets.settings.schema import Settings
from lake_assets.state.files import ensure_writable, is_locked
from lake_assets.storage.store import Store
from lake_assets.streams.noted_changes import noted_texts

_OURS = "-erasure"
"""What is noted by erasures, of all feeds; no feed is called so."""

_OF_STREAMS = "a batch of the streams has it: ask again"

_CUT_OFF = "a batch that was cut off has it: start the streams, then ask again"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """What is known of a lake's unfinished work."""

    settings: Settings
    lake: Store
    feeds: Sequence[Feed]
    ours: UnusedSince
    others: Sequence[UnusedSince]
    """Of maintenance, by feed."""

    @classmethod
    def of(cls, settings: Settings, lake: Store, feeds: Sequence[Feed]) -> Self:
        """What was noted up to now; `save` keeps what is met."""
        noted = (UnusedSince.of(settings.state_dir, feed.feed) for feed in feeds)
        return cls(
            settings=settings,
            lake=lake,
            feeds=feeds,
            ours=UnusedSince.of(settings.state_dir, _OURS),
            others=tuple(noted),
        )

    def in_use(self, table: TableRef) -> InUse:
        """For `end_history` of one of the tables."""
        return partial(self._in_use, table)

    def save(self) -> None:
        """Keep since when files are known.

        Raises:
            OSError: the state folder cannot be written.
        """
        ensure_writable(self.settings.state_dir)
        self.ours.save()

    def _in_use(self, table: TableRef, files: Sequence[OldFile]) -> Mapping[str, str]:
        unnamed = [file.path for file in files if not file.is_named]
        since = self.ours.meet(table, unnamed)
        if not unnamed:
            return {}
        noted = noted_texts(self.settings, self.lake, self.feeds)
        refreshed = ", ".join(self._refreshed()) if table.layer is Layer.GOLD else ""
        why = {}
        for path in unnamed:
            left_s = WATCHED_S - self._watched_s(table, path, since[path])
            if path.rpartition("/")[2] in noted:
                why[path] = _OF_STREAMS if is_locked(self.settings.state_dir) else _CUT_OFF
            elif refreshed:
                why[path] = f"{refreshed} is being refreshed: ask again afterwards"
            elif left_s > 0:
                why[path] = (
                    "no commit names it, and a running job may be about to: ask again in "
                    f"{left_s / 60 + 0.5:.0f} minutes"
                )
        return why

    def _watched_s(self, table: TableRef, path: str, ours: Since) -> float:
        """For how long a file is known to be unused, by whoever knows it longest."""
        noted = (one.tables.get(table.relative, {}).get(path, ours) for one in self.others)
        return time.monotonic() - min(since.monotonic for since in (ours, *noted))

    def _refreshed(self) -> Iterator[str]:
        for feed in self.feeds:
            for view in feed.gold:
                if file_lock.is_locked(self.settings.state_dir / f"{turn_of(feed, view)}.lock"):
                    yield f"view {view.name}"
