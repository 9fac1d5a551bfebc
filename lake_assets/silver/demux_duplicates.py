"""What demux asks of deduplication, whether its feed deduplicates or not."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport
from lake_assets.silver.deduplicate import Deduplication
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.turn import Turn
from lake_assets.spark.lake_context import LakeContext


def deduplication_of(feed: Feed, context: LakeContext, turn: Turn) -> Deduplication | None:
    """What takes duplicates out of a feed's batches; None if it does not deduplicate."""
    if feed.deduplicate is None:
        return None
    return Deduplication(feed=feed, context=context, turn=turn)


def with_keys_held(report: BatchReport, deduplication: Deduplication | None) -> BatchReport:
    """A batch's report that says what is held in memory after it."""
    if deduplication is None:
        return report
    seen = deduplication.seen
    return replace(report, keys_held=seen.rows, keys_held_bytes=seen.nbytes)


def deduplicated(
    deduplication: Deduplication | None, demuxed: Demuxed
) -> AbstractContextManager[Demuxed]:
    """As `Deduplication.unique`, of a feed that may not deduplicate."""
    return nullcontext(demuxed) if deduplication is None else deduplication.unique(demuxed)
