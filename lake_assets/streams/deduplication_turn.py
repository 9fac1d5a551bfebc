"""Whose turn it is to tell duplicates: batches, requeues, rebuilds of a feed, one at a time.

Those of all feeds that fill the same tables are one line.

Between the look at silver and the commit nobody else may add rows, or both would let the same event
in. Who died meanwhile has let the turn go and left a note; what is noted is finished first.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lake_assets.delta.multi_table_change import finish
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.silver.turn import Turn
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.files import turn
from lake_assets.streams.noted_changes import reprocess_journal


def deduplication_turn(context: LakeContext, state_dir: Path, feed: Feed) -> Turn:
    """What `silver.deduplicate` holds while it compares rows of a feed and they are committed."""
    owner = tables_owner(feed)
    filling = (feed, *(other for other in feed.others if tables_owner(other) == owner))

    @contextmanager
    def held(*, finishes: bool = True) -> Iterator[None]:
        with turn(state_dir, f"deduplicate-{owner}"):
            for one in filling if finishes else ():
                # Whoever noted it would hold the turn if it were alive.
                finish(reprocess_journal(context.lake, one), context.committer)
            yield

    return held
