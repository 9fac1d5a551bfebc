"""How keys' columns are hidden: by the feed's `mask` and their own."""

from collections.abc import Sequence

import pyarrow as pa

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.silver.key_selections import KeySelection
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.route_values import RouteValue
from lake_assets.silver.selected_columns import masks_of
from lake_assets.silver.selection import Output


def key_masks(
    feed: Feed, found: Sequence[KeySelection], known: pa.Schema, key: bytes
) -> list[Masks]:
    """Of each group of keys, how its columns are hidden.

    Args:
        feed: whose.
        found: what the groups select.
        known: what rows have before they are routed.
        key: of `hash`.

    Raises:
        FeedError: a column is not there, or no text.
    """
    made = []
    missed = {*feed.mask}
    for one in found:
        names = {name.lower() for name in one.outputs}
        common = {n: m for n, m in feed.mask.items() if n.lower() in names or feed.payload.grows}
        if one.is_stored:
            missed -= {*common}
        columns = pa.schema(
            [
                known.field(o.source).with_name(n) if o.source else pa.field(n, o.kind)
                for n, o in one.outputs.items()
            ]
        )
        # By lower-case name, as Spark has no case: its own says more than the feed's.
        lower = {name.lower() for name in one.masks}
        masks = {n: m for n, m in common.items() if n.lower() not in lower} | {**one.masks}
        whose = f"masks of feed {feed.feed!r}, key {one.whose}" if one.masks else ""
        outputs = [*one.outputs.values()]
        made.append(masks_of(feed, outputs, columns, key, masks, whose=whose))
    for name in sorted(missed):
        fact = f"names {name}, which no key's table has"
        raise FeedError(f"mask of feed {feed.feed!r}", fact, "Select it, or leave it out here")
    return made


def hidden_in_rescued(feed: Feed, masks: Sequence[Masks], below: Sequence[Output]) -> Masks:
    """What is hidden in `_rescued`, of whichever key a row is: what any of them hides.

    Args:
        feed: whose.
        masks: of the groups of keys.
        below: how the columns that keys select of are made of the payload.
    """
    hidden = {name for one in masks for name in one.hidden_names}
    lower = {name.lower() for name in hidden}
    hidden |= {name for one in below if one.name.lower() in lower for name in one.reads}
    return Masks(
        hidden_names=frozenset(hidden),
        hides_rescued=bool(hidden) and feed.transform is not None,
    )


def ensure_unmasked(feed: Feed, routes: Sequence[RouteValue], below: Sequence[str]) -> None:
    """Make sure that no route reads a column that is hidden only after it was routed.

    Raises:
        FeedError: one does.
    """
    masked = {name.lower() for name in feed.mask}
    for value in routes if feed.selects_by_key else ():
        plain = value.route.plain_column
        read = {*value.reads, *([plain] if plain else [])} & {*below}
        for name in sorted(name for name in read if name.lower() in masked):
            fact = f"hides {name}, which the route reads before keys' selects do"
            step = f"Give what the route reads a name of its own in `select`, besides {name}"
            raise FeedError(f"mask of feed {feed.feed!r}", fact, step)
