"""Removals that were begun and cut off: whoever erases next goes on with them, by places alone.

Silver may have lost such rows while bronze has them still, and only the places that were noted tell
that. So nobody else's erasure of the same rows is done before, and it needs neither values nor
Spark.
"""

from collections.abc import Iterator, Sequence

from lake_assets.erasure.note import matching_of
from lake_assets.erasure.remove import Removal
from lake_assets.model.erasures import Erasure, ErasureState
from lake_assets.model.feeds import Feed
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.erasure_ledger import ErasureLedger

_BEGUN = (ErasureState.NOTED, ErasureState.FOUND, ErasureState.REMOVED)
"""States in which rows, or older versions of their tables, may be there still."""


def begun_removals(
    context: LakeContext, ledger: ErasureLedger, feeds: Sequence[Feed]
) -> Iterator[tuple[Erasure, list[Removal]]]:
    """By erasure that is not through, all rows whose places were noted.

    Raises:
        LakeError: the ledger cannot be read.
    """
    erasures = ledger.read()
    for erasure in erasures.every:
        if erasure.state not in _BEGUN:
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


def told_of_unsearched(erasure: Erasure, tables: Sequence[str]) -> str:
    """In words, what is left of one whose rows in some tables only its values tell."""
    return (
        f"erasure {erasure.id} was cut off before all places were known where its rows are, and "
        f"rows of {', '.join(tables)} are told by values alone: ask for it again with its values"
    )
