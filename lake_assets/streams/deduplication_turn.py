"""Whose turn it is to tell duplicates: batches, requeues, rebuilds of a feed, one at a time.

Those of all feeds that fill the same tables are one line.

Between the look at silver and the commit nobody else may add rows, or both would let the same event
in. Who died meanwhile has let the turn go and left a note; what is noted is finished first, also of
feeds that nobody declares any more: of rows that may never come nothing is a duplicate.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from lake_assets.delta.commit_journal import feeds_noted, journal_of
from lake_assets.delta.multi_table_change import finish
from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.reports import BatchReport
from lake_assets.silver.cut_off_batch import fills_tables_of, finish_for_another
from lake_assets.silver.turn import Turn, no_turn
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.files import turn
from lake_assets.streams.noted_changes import reprocess_journal

_LOG = logging.getLogger(__name__)

DEMUX = "demux"
"""What the journals of batches are called by."""


def deduplication_turn(
    context: LakeContext, state_dir: Path, feed: Feed, report: Callable[[BatchReport], None]
) -> Turn:
    """What `silver.deduplicate` holds while it compares rows of a feed and they are committed.

    Args:
        context: of the lake.
        state_dir: where turns and journals are.
        feed: whose rows; with the others, as far as they are declared.
        report: told of another feed's batch that is finished before.
    """
    if feed.deduplicate is None:
        return no_turn
    others = _Others(context, state_dir, feed, report)

    @contextmanager
    def held(*, finishes: bool = True) -> Iterator[None]:
        with turn(state_dir, f"deduplicate-{tables_owner(feed)}"):
            # Whoever noted anything would hold the turn if it were alive.
            if finishes:
                finish(reprocess_journal(context.lake, feed), context.committer)
            others.finish(nullcontext if finishes else _told)
            yield

    return held


@dataclass(frozen=True, slots=True)
class _Others:
    """The other feeds that fill a feed's tables, or did until nobody declared them any more."""

    context: LakeContext
    state_dir: Path
    feed: Feed
    report: Callable[[BatchReport], None]

    def finish(self, guarded: Callable[[], AbstractContextManager[None]]) -> None:
        """Finish what they have noted, each of them within `guarded`."""
        owner = tables_owner(self.feed)
        for other in self.feed.others:
            if tables_owner(other) == owner:
                with guarded():
                    self._finish_declared(other)
        declared = {self.feed.feed, *(other.feed for other in self.feed.others)}
        for name in sorted(feeds_noted(self.state_dir, DEMUX) - declared):
            with guarded():
                self._finish_undeclared(name, owner)

    def _finish_declared(self, other: Feed) -> None:
        finish(reprocess_journal(self.context.lake, other), self.context.committer)
        journal = journal_of(self.state_dir, other.feed, DEMUX)
        finish_for_another(other.feed, self.context, journal, self.report)

    def _finish_undeclared(self, name: str, owner: str) -> None:
        journal = journal_of(self.state_dir, name, DEMUX)
        if fills_tables_of(owner, self.context.lake, journal):
            finish_for_another(name, self.context, journal, lambda _: None)


@contextmanager
def _told() -> Iterator[None]:
    """What others have noted may wait: if it can never be finished, their rows come again."""
    try:
        yield
    except LakeError as problem:
        _LOG.warning("what another feed that fills the same tables has noted waits: %s", problem)
