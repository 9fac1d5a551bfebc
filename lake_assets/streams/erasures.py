"""Passing the fence of a feed's streams, for who erases rows: what was cut off is whole or undone.

What the fence is for is `state.erasing_fence`'s.
"""

from collections.abc import Callable
from pathlib import Path

from lake_assets.delta.commit_journal import journal_of
from lake_assets.delta.log_history import is_done
from lake_assets.delta.multi_table_change import finish
from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.recovery import Recovery
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.files import ensure_writable
from lake_assets.streams.batch_under_way import while_no_batch
from lake_assets.streams.current_position import unheard
from lake_assets.streams.deduplication_turn import DEMUX, deduplication_turn
from lake_assets.streams.demux_loop import tables_of_silver
from lake_assets.streams.noted_changes import reprocess_journal


def pass_fence(
    context: LakeContext,
    settings: Settings,
    feed: Feed,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Return when no batch of a feed can be committed that knew the erasures as they were before.

    A batch, or a change beside the streams, that was cut off and is noted is finished, or it is
    undone where it cannot be. Needs no Spark. To be called once what is to be obeyed is noted, by
    the holder of `REDO_TURN`, since that alone may finish changes.

    Args:
        context: commits.
        settings: where the state is.
        feed: whose streams.
        tell: told whom this waits for.

    Raises:
        ErasureError: a batch does not end.
        StreamError: the feed's tables do not fit together.
        LakeError: the lake cannot be read or written, or a change cannot be finished.
    """
    state_dir = settings.state_dir
    ensure_writable(state_dir)
    if context.erasures is not None:
        context.erasures.touch()  # whoever noted them may have died before it told the streams
    with while_no_batch(state_dir, feed.feed, tell):
        finish(reprocess_journal(context.lake, feed), context.committer)
        _settle(context, state_dir, feed)


def _settle(context: LakeContext, state_dir: Path, feed: Feed) -> None:
    """Finish or undo a batch of demux that is noted and not whole, as the next start would.

    The note goes then: it has statistics of the batch's files, and they have values.
    """
    journal = journal_of(state_dir, feed.feed, DEMUX)
    if not _is_cut_off(context, state_dir, feed):
        journal.forget()
        return
    bronze = context.committer.fresh(bronze_of(feed.feed))
    recovery = Recovery(
        feed=feed.feed,
        origin=origin_of(feed),
        context=context,
        journal=journal,
        report=unheard,
        turn=deduplication_turn(context, state_dir, feed, unheard),
    )
    recovery.run(tables_of_silver(context.lake, feed), bronze)
    journal.forget()  # what cannot be finished now must not be later


def _is_cut_off(context: LakeContext, state_dir: Path, feed: Feed) -> bool:
    """Whether a batch is noted whose last commit was not made."""
    try:
        noted = journal_of(state_dir, feed.feed, DEMUX).last()
    except LakeError:
        return False  # torn: nobody can finish it
    quarantine = quarantine_of(feed.feed)
    handles = context.committer.opened([quarantine])
    return noted is not None and bool(handles) and not is_done(handles[quarantine], noted[0])
