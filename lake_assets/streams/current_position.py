"""How far demux is in bronze, for who changes silver beside it, whether the streams run or not."""

from pathlib import Path

from deltalake import DeltaTable

from lake_assets.errors import StreamError, StreamsLockedError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.reports import BatchReport
from lake_assets.model.tables import quarantine_of
from lake_assets.silver.demux_position import Position, read_position
from lake_assets.silver.recovery import Recovery
from lake_assets.silver.reprocess import Redo
from lake_assets.state.files import streams_lock
from lake_assets.streams.demux_loop import tables_of_silver
from lake_assets.streams.pipeline import demux_journal


def current_position(redo: Redo, state_dir: Path, bronze: DeltaTable) -> Position:
    """How far demux is: the streams' own word if they run, else what recovery comes to.

    Raises:
        StreamError: silver's tables do not fit together, or the streams never ran.
    """
    feed, context = redo.demux.feed, redo.demux.context
    try:
        with streams_lock(state_dir):
            journal = demux_journal(state_dir, feed)
            recovery = Recovery(
                feed=feed.feed,
                origin=origin_of(feed),
                context=context,
                journal=journal,
                report=unheard,
                turn=redo.demux.turn,
            )
            return recovery.run(tables_of_silver(context.lake, feed), bronze).position
    except StreamsLockedError:
        quarantine = context.committer.opened([quarantine_of(feed.feed)])
        positions = [read_position(handle, feed.feed) for handle in quarantine.values()]
    if not positions or positions[0] is None:
        raise unbegun(feed)
    return positions[0]


def unbegun(feed: Feed) -> StreamError:
    """The error of a feed of which demux has done nothing yet."""
    return StreamError(
        f"demux of feed {feed.feed!r}",
        "has finished no batch",
        "Let the streams run on, then try again",
    )


def unheard(_: BatchReport) -> None:
    """A batch that was finished on the way; the streams' log has it or not."""
