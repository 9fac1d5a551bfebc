"""What demux's jobs are told of erasures: as they are noted when a job is planned."""

from dataclasses import replace

from lake_assets.delta.origins import Within
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
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
        self._seen: FeedErasures | None = None
        self._eraser: RowEraser | None = None

    def look(self) -> RowEraser | None:
        """What tells which rows are erased; None while none are.

        Raises:
            LakeError: the erasures cannot be read, so that no row may be taken.
        """
        found = self._fresh.look()
        if found is self._seen:
            return self._eraser if found else None
        if found:
            table, columns = erased_of(self._feed.feed), erased_schema(self._feed.source.origin)
            owners = {table: Owner(feed=self._feed.feed)}
            self._context.committer.create({table: columns}, owners=owners)
            self._eraser = self._eraser_of(found)
        else:
            ensure_none_was(self._context, self._feed)
        self._seen = found
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


def ensure_none_was(context: LakeContext, feed: Feed) -> None:
    """Make sure that nobody's rows of a feed were ever erased, of a lake that knows of nobody.

    Raises:
        LakeError: some were, so the ledger was there, and is not any more.
    """
    table = erased_of(feed.feed)
    if context.erasures is not None and log_of(context.lake, table).exists():
        raise LakeError(
            str(context.erasures.file),
            f"is gone: {table.name} tells that rows were erased, not whose",
            "Put the folder back from a backup of the lake, and the streams go on; or delete that "
            "table, if nobody is to stay erased",
        )
