"""Which old files of a feed's tables may be those of work that is not done, so that they stay.

A file that a commit named is nobody's any more once it left the table. One that none named may be a
batch's, a refresh's or a compaction's that is about to commit, or was left by one that was killed:
it stays while a journal names it, and until it has been known for an hour, which no batch takes.
Who asks has the turns of a requeue or a rebuild (`REDO_TURN`) and of maintenance: neither commits.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from lake_assets.delta.history_end import InUse, OldFile
from lake_assets.gold.view_turns import turn_of
from lake_assets.maintenance.noted_files import noted_in_journals
from lake_assets.maintenance.unused_since import WATCHED_S, UnusedSince
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer, TableRef
from lake_assets.runtime.file_lock import is_locked
from lake_assets.settings.schema import Settings
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """What is known of a feed's unfinished work; maintenance notes the same files."""

    settings: Settings
    feed: Feed
    lake: Store
    since: UnusedSince

    @classmethod
    def of(cls, settings: Settings, feed: Feed, lake: Store) -> Self:
        """Look at what was noted; `save` keeps what is met."""
        since = UnusedSince.of(settings.state_dir, feed.feed)
        return cls(settings=settings, feed=feed, lake=lake, since=since)

    def in_use(self, table: TableRef) -> InUse:
        """For `end_history` of one of the feed's tables."""
        return partial(self._in_use, table)

    def save(self) -> None:
        """Keep since when files are known.

        Raises:
            OSError: the state folder cannot be written.
        """
        self.since.save()

    def _in_use(self, table: TableRef, files: Sequence[OldFile]) -> Mapping[str, str]:
        unnamed = [file.path for file in files if not file.is_named]
        since = self.since.meet(table, unnamed)
        if not unnamed:
            return {}
        noted = noted_in_journals(self.settings.state_dir, self.lake, self.feed)
        refreshed = list(self._refreshed()) if table.layer is Layer.GOLD else []
        why = {}
        for path in unnamed:
            watched = time.monotonic() - since[path].monotonic
            if path.rpartition("/")[2] in noted:
                why[path] = "a batch that was written and cut off has it: start the streams"
            elif refreshed:
                why[path] = f"{', '.join(refreshed)} is being refreshed: run this again afterwards"
            elif watched < WATCHED_S:
                why[path] = (
                    "no commit names it, and a running batch may be about to: run this again in "
                    f"{(WATCHED_S - watched) / 60 + 0.5:.0f} minutes"
                )
        return why

    def _refreshed(self) -> Iterator[str]:
        for view in self.feed.gold:
            if is_locked(self.settings.state_dir / f"{turn_of(self.feed, view)}.lock"):
                yield view.name
