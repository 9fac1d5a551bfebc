"""What demux's jobs are told of erasures: as they are noted when a job is planned."""

from lake_assets.delta.origins import Within
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.owners import Owner
from lake_assets.model.tables import erased_of
from lake_assets.model.transforms import generators_in
from lake_assets.silver.erased_rows import RowEraser, erased_schema
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.fresh_erasures import FreshErasures


class Erasing:
    """Looks at a lake's erasures for one feed, and makes the table of its erased rows."""

    def __init__(self, feed: Feed, context: LakeContext) -> None:
        """Nothing is looked at yet."""
        self._feed, self._context = feed, context
        self._fresh = FreshErasures(ledger=context.erasures, feed=feed.feed)
        self._has_table = False

    def look(self) -> RowEraser | None:
        """What tells which rows are erased; None while none are.

        Raises:
            LakeError: the erasures cannot be read, so that no row may be taken.
        """
        found = self._fresh.look()
        if not found:
            return None
        if not self._has_table:
            self._make_table()
        # Of several rows that a value becomes, some may be of persons who are to stay.
        is_one_row = not generators_in(self._feed.select)
        origin = origin_of(self._feed)
        return RowEraser(
            feed=self._feed.feed,
            origin=origin,
            erasures=found.every,
            places=Within(found.spans, origin) if found.spans and is_one_row else None,
        )

    def _make_table(self) -> None:
        table, feed = erased_of(self._feed.feed), self._feed
        columns = erased_schema(feed.source.origin)
        self._context.committer.create({table: columns}, owners={table: Owner(feed=feed.feed)})
        self._has_table = True
