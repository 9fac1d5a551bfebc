"""Dropping a feed's bronze table, and with it all that was made of it: a feed that starts again."""

import shutil

from lake_assets.delta.catalog import tables_of
from lake_assets.delta.feeds_in_table import others_in
from lake_assets.delta.table_log import drop_table
from lake_assets.errors import FeedError
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import beside_it, is_shared
from lake_assets.model.retention import Reset
from lake_assets.model.tables import Layer, TableRef, bronze_of
from lake_assets.settings.schema import Settings
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.state.files import streams_lock, turn
from lake_assets.state.lake_id import ensure_bound
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.pipeline import checkpoint_of


def ensure_alone(lake: Store, feed: Feed) -> None:
    """Refuse to drop silver that has other feeds' rows, or to read again what stays in it.

    Raises:
        FeedError: several feeds fill the feed's silver, or did: a table has another one's rows.
        LakeError: a table cannot be read.
    """
    fact = ""
    if is_shared(feed):
        others = ", ".join(beside_it(feed))
        fact = f"its rows are in silver tables that {others} fills, too"
    else:
        silver = (table for table in tables_of(lake, feed) if table.layer is Layer.SILVER)
        if found := others_in(lake, silver, feed.feed):
            table, other = found
            fact = f"{table.name} would be dropped with it, and has rows of {other}"
    if fact:
        raise FeedError(
            bronze_of(feed.feed).name,
            f"cannot be dropped: {fact}",
            "To derive its rows of silver again, run `lake-assets rebuild silver`",
        )


def ensure_resettable(feed: Feed) -> None:
    """Refuse to drop what is protected.

    Raises:
        FeedError: the feed is, which is the default.
    """
    if feed.reset is Reset.PROTECTED:
        raise FeedError(
            f"{bronze_of(feed.feed).name}",
            f"is protected, since {feed.source.declared.system} may have forgotten what is in it",
            f"To drop it all the same, write `reset: {Reset.ALLOWED}` into the feed's file; to "
            "derive silver again without dropping anything, run `lake-assets rebuild silver`",
        )


def reset_bronze(settings: Settings, feed: Feed) -> list[TableRef]:
    """Delete a feed's tables, checkpoints and journals; the streams then read its source again.

    Its tables are those that record it as their owner, whatever they are called.
    If it dies on its way, what is left fits no state that the streams accept: they refuse to go
    on, and a reset that runs again comes to the end.

    Returns:
        The tables that were deleted.

    Raises:
        FeedError: the feed is protected, which is the default, or silver has rows of others, too.
        StreamsLockedError: the streams run.
    """
    ensure_resettable(feed)
    ensure_bound(settings)
    state_dir, lake = settings.state_dir, lake_of(settings)
    ensure_alone(lake, feed)
    with (
        streams_lock(state_dir),
        turn(state_dir, "redo"),
        turn_of_views(state_dir, feed, feed.gold),
    ):
        shutil.rmtree(checkpoint_of(state_dir, feed.feed), ignore_errors=True)
        for journal in state_dir.glob(f"journals/{feed.feed}-*.json"):
            journal.unlink()
        for noted in state_dir.glob(f"batches/{feed.feed}-*"):
            noted.unlink()  # of batches that there are no more
        # Before bronze goes: what is read next may be a topic that was made anew, or files in
        # another order, and give other persons' rows the offsets of erased ones. Values are judged.
        ErasureLedger(lake, state_dir).forget(feed.feed)
        dropped = list(reversed(tables_of(lake, feed)))
        for table in dropped:
            drop_table(lake, table)
        return dropped
