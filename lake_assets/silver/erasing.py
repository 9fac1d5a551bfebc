"""What demux's jobs are told of erasures: as they are noted when a job is planned."""

from dataclasses import replace

from lake_assets.delta.origins import Within
from lake_assets.model.erasures import Erasures, Later
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.owners import Owner
from lake_assets.model.tables import erased_of
from lake_assets.model.transforms import generators_in
from lake_assets.silver.erased_rows import RowEraser, erased_schema
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.fresh_erasures import FeedErasures, FreshErasures


class Erasing:
    """Looks at a lake's erasures for one feed, and makes the table of its erased rows."""

    def __init__(self, feed: Feed, context: LakeContext) -> None:
        """Nothing is looked at yet."""
        self._feed, self._context = feed, context
        self._fresh = FreshErasures(ledger=context.erasures, feed=feed.feed)
        self._seen = FeedErasures()
        self._eraser: RowEraser | None = None

    def look(self) -> RowEraser | None:
        """What tells which rows are erased; None while none are.

        Raises:
            LakeError: the erasures cannot be read, so that no row may be taken.
        """
        found = self._fresh.look()
        if found and found is not self._seen:
            table, columns = erased_of(self._feed.feed), erased_schema(self._feed.source.origin)
            owners = {table: Owner(feed=self._feed.feed)}
            self._context.committer.create({table: columns}, owners=owners)
            self._seen, self._eraser = found, self._eraser_of(found)
        return self._eraser if found else None

    def _eraser_of(self, found: FeedErasures) -> RowEraser:
        # Of several rows that a value becomes, some may be of persons who are to stay.
        is_one_row = not generators_in(self._feed.select)
        origin = origin_of(self._feed)
        return RowEraser(
            feed=self._feed.feed,
            origin=origin,
            erasures=self._own(found.every),
            places=Within(found.spans, origin) if found.spans and is_one_row else None,
        )

    def _own(self, every: Erasures) -> Erasures:
        """What of them tasks need: each gets a copy."""
        own = [(one, one.cuts.get(self._feed.feed, {})) for one in every.every]
        return Erasures(
            every.key,
            tuple(
                replace(one, cuts={self._feed.feed: cuts}, rows={})
                for one, cuts in own
                if cuts or one.later is Later.DROP
            ),
        )
