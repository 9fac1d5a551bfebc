"""Removals that were begun and cut off: whoever erases next goes on with them, by places alone.

Silver may have lost such rows while bronze has them still, and only the places that were noted tell
that. So nobody else's erasure of the same rows is done before.
"""

from collections.abc import Collection, Iterator, Sequence

from lake_assets.erasure.note import matching_of
from lake_assets.erasure.remove import Removal
from lake_assets.model.erasures import Erasure, ErasureState
from lake_assets.model.feeds import Feed
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.erasure_ledger import ErasureLedger

_BEGUN = (ErasureState.NOTED, ErasureState.FOUND, ErasureState.REMOVED)
"""States in which rows, or older versions of their tables, may be there still."""


def begun_removals(
    context: LakeContext, ledger: ErasureLedger, feeds: Sequence[Feed], known: Collection[str]
) -> Iterator[tuple[Erasure, list[Removal]]]:
    """By erasure that is not through, all rows whose places were noted.

    Args:
        context: reads.
        ledger: of the lake.
        feeds: all that are declared.
        known: ids of erasures that the caller goes on with by itself.

    Raises:
        LakeError: the ledger cannot be read.
    """
    erasures = ledger.read()
    for erasure in erasures.every:
        if erasure.state not in _BEGUN or erasure.id in known:
            continue
        spans = {feed.feed: ledger.spans_of(feed.feed, erasure.id) for feed in feeds}
        if not any(spans.values()) and not erasure.rows:
            continue
        matching = matching_of(erasure, erasures.key, None)
        yield (
            erasure,
            [
                Removal(
                    context=context,
                    feed=feed,
                    erasure=erasure.id,
                    spans=spans[feed.feed],
                    matching=matching,
                )
                for feed in feeds
            ],
        )
