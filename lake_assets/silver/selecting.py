"""Which payload format a feed's values have, with what the feed and its keys select and hide."""

from typing import Any

from pyspark.sql import SparkSession

from lake_assets.errors import FeedError
from lake_assets.formats.base import PayloadFormat
from lake_assets.model.feeds import Feed
from lake_assets.silver.selecting_by_key_format import SelectingByKeyFormat
from lake_assets.silver.selecting_format import Note, SelectingFormat, untold


def with_select(
    session: SparkSession,
    feed: Feed,
    inner: PayloadFormat[Any],
    mask_key: bytes,
    note: Note = untold,
    *,
    rotates: bool = False,
) -> PayloadFormat[Any]:
    """The format of a feed's values, with what it selects and hides, if it does.

    Args:
        session: which resolves the expressions.
        feed: whose.
        inner: what decodes.
        mask_key: of `mask: hash`; empty if there is none.
        note: is told of each plan what is selected.
        rotates: whether all of silver is hashed anew, so that tables may have another key's hashes.

    Raises:
        FeedError: texts are to be hashed without a key.
    """
    if not feed.select and not feed.mask and not feed.selects_by_key:
        return inner
    if feed.hashes and not mask_key:
        fact = "hashes texts, and there is no key for it"
        step = "Set LAKE_ASSETS_MASKING_KEY to a secret of your own, and keep it: with another key "
        raise FeedError(f"mask of feed {feed.feed!r}", fact, f"{step}equal texts differ")
    kind = SelectingByKeyFormat if feed.selects_by_key else SelectingFormat
    return kind(session, feed, inner, mask_key, note, rotates)
