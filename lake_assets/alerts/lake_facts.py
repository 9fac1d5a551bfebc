"""What the lake's tables and its state folder tell an alert; `alerts.lake_problems` judges it."""

from collections.abc import Sequence

from lake_assets.alerts.lake_problems import LakeSeen, SeenBackups, SeenChange, SeenGap
from lake_assets.alerts.sink_problems import SinkSeen
from lake_assets.delta.conflicts import lake_errors
from lake_assets.logs.gaps import recorded_gaps
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import NEW_FOR_S
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.sinks import Sink
from lake_assets.settings.schema import Settings
from lake_assets.sinks.standing import standing_of
from lake_assets.sources.files.index import changes_in
from lake_assets.state.backup_notes import note_of
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.batch_attempts import poisoned_batches


def look_at_lake(settings: Settings, feeds: Sequence[Feed], utc_now: float) -> LakeSeen:
    """What there is to tell of some feeds.

    Raises:
        LakeError: the lake cannot be read.
    """
    lake = lake_of(settings)
    return LakeSeen(
        utc_now=utc_now,
        stopped={
            feed.feed: "; ".join(poisoned)
            for feed in feeds
            if (poisoned := poisoned_batches(settings.state_dir, feed))
        },
        gaps={
            feed.feed: [
                SeenGap(gap=recorded.gap, at=recorded.at.timestamp())
                for recorded in recorded_gaps(lake, feed.feed)
            ]
            for feed in feeds
        },
        changes={
            feed.feed: [
                SeenChange(
                    file=change.file.name, state=change.state, at=change.noticed_at.timestamp()
                )
                for change in changes_in(lake, feed.feed)
            ]
            for feed in feeds
            if feed.source.files is not None
        },
        backups=_backups(settings, utc_now),
        sinks={
            f"{feed.feed}.{sink.name}": seen
            for feed in feeds
            for sink in feed.sinks
            if (seen := sink_seen(settings, feed, sink, utc_now))
        },
        sinks_may_wait_s=settings.alerts.sink_behind_after_s,
    )


def sink_seen(settings: Settings, feed: Feed, sink: Sink, utc_now: float) -> SinkSeen | None:
    """What there is to tell of a sink; None if it never began, and nothing waits for it.

    Raises:
        LakeError: the lake cannot be read.
    """
    lake = lake_of(settings)
    with lake_errors(lake.root):
        standing = standing_of(lake, feed, sink, utc_now - NEW_FOR_S)
    if standing is None:
        return None
    return SinkSeen(
        behind_since=standing.behind_since,
        recorded_at=standing.recorded_at,
        new_letters=standing.new_letters,
        letters_since=standing.letters_since,
    )


def _backups(settings: Settings, utc_now: float) -> SeenBackups | None:
    """What is noted of the place that backups go to."""
    if settings.backup.target is None:
        return None
    place = str(LakeUri.parse(settings.backup.target))
    noted = note_of(settings.state_dir, place)
    since = noted.wanted_since if noted.made_at is None else noted.made_at
    return SeenBackups(
        target=place,
        since=utc_now if since is None else since,
        may_be_s=settings.backup.alert_after_hours * 3600,
        number=noted.number,
        failed_at=noted.failed_at,
        why=noted.why,
    )
