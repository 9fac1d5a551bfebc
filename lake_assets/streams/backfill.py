"""What a run of a feed of files came to, and how far it is; it is `streams.run_feed` that runs."""

from collections import Counter
from dataclasses import dataclass, field

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, GoldRefreshed, Stage
from lake_assets.model.tables import files_of
from lake_assets.settings.schema import Settings
from lake_assets.sources.files.index import BAD, FOUND, counted_files
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.run import StreamEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class FilesFound:
    """Files of a feed that have offsets, since its beginning."""

    found: int
    bad: int
    """Those among them that cannot be read: each is a row in quarantine."""


@dataclass(kw_only=True)
class BackfillTally:
    """Sums of what a run's batches came to; its process may run other feeds meanwhile."""

    feed: str
    owner: str
    """The feed whose tables it fills, and whose views are refreshed."""

    rows: Counter[str] = field(default_factory=Counter)
    """By table that demux fills: silver's, and quarantine."""

    dropped: int = 0
    duplicates: int = 0
    taken: int = 0
    """Rows that bronze got."""

    left: int | None = None
    """Rows that were found and that bronze has not; None if that is not known yet."""

    late: Counter[str] = field(default_factory=Counter)
    """By view of windows, rows that came after their window was closed."""

    def add(self, event: StreamEvent) -> None:
        """Count what was done."""
        if isinstance(event, GoldRefreshed) and event.feed == self.owner:
            for report in event.refreshed.reports:
                for one in report.refreshed:
                    self.late[one.view] += one.late_rows
        if not isinstance(event, BatchReport) or not event.is_committed:
            return
        if event.feed != self.feed:
            return
        if event.stage is Stage.INGEST:
            self.taken += sum(event.rows.values())
            self.left = self.left if event.lag_rows is None else event.lag_rows
            return
        self.rows.update(event.rows)
        self.dropped += sum(event.dropped.values())
        self.duplicates += sum(event.duplicates.values())


def ensure_backfillable(feed: Feed) -> None:
    """Make sure that a feed's source ends: that it has what is read once.

    Raises:
        FeedError: it is one that goes on.
    """
    if feed.source.index_of(feed.feed) == files_of(feed.feed):
        return
    raise FeedError(
        f"feed {feed.feed!r}",
        f"reads {feed.source.declared.title}, which is no folder of files and no Delta table",
        f"`lake-assets stream --feed {feed.feed} --until-caught-up` takes what there is now",
    )


def files_found(settings: Settings, feed: Feed) -> FilesFound:
    """What the feed's index has.

    Raises:
        LakeError: it cannot be read.
    """
    counted = counted_files(lake_of(settings), feed.feed)
    return FilesFound(found=counted[FOUND], bad=counted[BAD])
