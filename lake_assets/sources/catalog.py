"""Which sources there are: the one place that maps what a feed declares to a source."""

from collections.abc import Callable, Mapping

from lake_assets.model.delta_source import DeltaSource
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.model.origins import ByPlace, Place
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.model.sources import DeclaredSource, KafkaSource
from lake_assets.sources.base import Source
from lake_assets.sources.delta.source import AppendedRows
from lake_assets.sources.files.source import FolderFiles
from lake_assets.sources.kafka.group_offsets import GroupOffsets, group_of
from lake_assets.sources.kafka.retention import TopicRetention, offsets_at, topic_retention
from lake_assets.sources.kafka.source import KafkaTopic
from lake_assets.sources.kinesis.landed import position_at
from lake_assets.sources.kinesis.source import StreamRecords
from lake_assets.sources.postgres.source import TableRows
from lake_assets.storage.store import Store

SOURCES: dict[type[DeclaredSource], type[Source]] = {
    KafkaSource: KafkaTopic,
    FilesSource: FolderFiles,
    DeltaSource: AppendedRows,
    PostgresSource: TableRows,
    KinesisSource: StreamRecords,
}
"""By what a feed declares of it."""


def source_of(feed: Feed, endpoints: Endpoints, lake: Store) -> Source:
    """The source of a feed's rows, as `Source.of` makes it; asks nobody yet."""
    return kind_of(feed).of(feed, endpoints, lake)


def kind_of(feed: Feed) -> type[Source]:
    """The kind of a feed's source, for what is the same of all of them."""
    return SOURCES[type(feed.source.declared)]


def tools_of(feed: Feed, endpoints: Endpoints) -> GroupOffsets | None:
    """What tells the source's own tools how far a feed is; None if it has none."""
    declared = feed.source.declared
    if not isinstance(declared, KafkaSource):
        return None
    return GroupOffsets(endpoints, group_of(feed.feed))


def unread_of(feed: Feed, lake: Store, *, within_s: float) -> tuple[float, float] | None:
    """For how long rows of a feed's source may have waited, and are kept by it, in seconds.

    Args:
        feed: whose source.
        lake: where it is told how far the source was read.
        within_s: for an answer.

    Returns:
        None of a source that tells offsets, and before anything was read.

    Raises:
        SettingsError: what it is to be reached with cannot be used.
        SourceError: it does not answer, or refuses us.
        LakeError: the lake cannot be read.
    """
    declared = feed.source.declared
    known = position_at(lake, feed.feed) if isinstance(declared, KinesisSource) else None
    if not isinstance(declared, KinesisSource) or known is None or known.sure_ms is None:
        return None
    # boto3 need not be there where no feed reads from Kinesis.
    from lake_assets.sources.kinesis.unseen import ensure_readable  # noqa: PLC0415

    stream = ensure_readable(declared, known, within_s=within_s).stream
    return max(0, stream.now_ms - known.sure_ms) / 1000, stream.retention_ms / 1000


def deletions_of(
    feed: Feed, endpoints: Endpoints, *, ends: ByPlace, young_at: Callable[[float], float]
) -> tuple[Mapping[str, TopicRetention], dict[Place, int]] | None:
    """What a feed's source deletes by its settings; None of a source that does not tell.

    Args:
        feed: whose source.
        endpoints: its brokers.
        ends: by topic and partition, the offset after the last row.
        young_at: from the seconds that rows are kept, the time since which rows are young enough;
            in seconds since 1970.

    Returns:
        The settings by topic, and by topic and partition the first offset that is young enough.

    Raises:
        SourceError: it does not answer, or refuses us.
    """
    declared = feed.source.declared
    if not isinstance(declared, KafkaSource):
        return None
    kept = topic_retention(endpoints, sorted({topic for topic, _ in ends}))
    since = {place: seconds for place in ends if (seconds := kept[place[0]].seconds) is not None}
    if not since:
        return kept, {}
    found = offsets_at(endpoints, {place: young_at(s) for place, s in since.items()})
    return kept, {p: ends[p] if offset is None else offset for p, offset in found.items()}
