"""What a feed's `select` and `mask` make of the columns that its tables have.

Which columns are selected, and of which decoded ones, is found by `silver.selection`.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lake_assets.errors import FeedError, LakeError
from lake_assets.formats.schema_merge import Mismatch, in_words
from lake_assets.model.feeds import Feed
from lake_assets.model.misfits import RECORD
from lake_assets.model.transforms import ELEMENT, Mask
from lake_assets.silver.computed_columns import (
    START_AGAIN,
    kind_without_keys,
    misfit,
    with_computed,
)
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.selection import Output


def decoded_columns(have: pa.Schema, outputs: Sequence[Output], *, has_star: bool) -> pa.Schema:
    """The decoded columns that tables have, by their selected ones.

    Args:
        have: the selected columns.
        outputs: what is selected, as far as it is known without the tables.
        has_star: whether all decoded columns are, under their names; further ones are such then.
    """
    sources = {one.name: one.source for one in outputs}
    found: dict[str, pa.Field] = {}
    for column in have:
        source = sources.get(column.name, column.name if has_star else None)
        if source is not None and source != ELEMENT:  # of a `select` of another day, perhaps
            found.setdefault(source, column.with_name(source))
    return pa.schema(list(found.values()))


def sources_of(route: Sequence[str], outputs: Sequence[Output]) -> list[str]:
    """The decoded columns that the route's are; one that is computed may be of any message."""
    by_name = {one.name: one.source for one in outputs}
    return [source for name in route if (source := by_name.get(name)) is not None]


def selected(kind: pa.Schema, outputs: Sequence[Output]) -> pa.Schema:
    """The columns of a kind of rows, as far as they are selected, and the computed ones."""
    fields = []
    for one in outputs:
        if one.source is None:
            fields.append(pa.field(one.name, one.kind))
        elif one.source in kind.names:
            fields.append(kind.field(one.source).with_name(one.name))
    return pa.schema(fields)


def merged_columns(
    feed: Feed, have: pa.Schema, made: Sequence[pa.Field], computed: set[str]
) -> pa.Schema:
    """As `with_computed`.

    Raises:
        LakeError: the types of one do not go together.
    """
    merged = with_computed(feed.payload, have, made, computed)
    if isinstance(merged, Mismatch):
        raise LakeError(
            f"silver of feed {feed.feed!r}",
            misfit(merged, "selected as"),
            f"Cast it to what it is or give it another name; or {START_AGAIN}",
        )
    return merged


def ensure_routed(feed: Feed, route: Sequence[str], columns: pa.Schema) -> None:
    """Make sure that the selected columns say where a row goes.

    Raises:
        FeedError: they do not.
    """
    missing = [name for name in route if name not in columns.names]
    if missing and not feed.payload.grows:
        fact = f"leaves out {missing[0]}, which says where a row goes"
        raise FeedError(f"select of feed {feed.feed!r}", fact, "Select it, too")
    for name in (name for name in route if name in columns.names):
        if kind := kind_without_keys(columns.field(name).type):
            fact = f"makes {name} {kind}, which holds no keys"
            step = f"Make it text: `cast(… as string) as {name}`"
            raise FeedError(f"select of feed {feed.feed!r}", fact, step)


def masks_of(
    feed: Feed,
    outputs: Sequence[Output],
    columns: pa.Schema,
    key: bytes,
    masks: Mapping[str, Mask] | None = None,
    *,
    whose: str = "",
) -> Masks:
    """How columns are hidden.

    Args:
        feed: whose.
        outputs: what is selected.
        columns: the same, with their types.
        key: of `hash`.
        masks: by column; the feed's by default.
        whose: what errors call them, as `mask of key 'poker'`; the feed's mask by default.

    Raises:
        FeedError: one is not there, or no text.
    """
    masks = feed.mask if masks is None else masks
    by_name = {one.name: one for one in outputs}
    thing, hidden = whose or f"mask of feed {feed.feed!r}", {*masks}
    by_column: dict[str, Mask] = {}
    for name, mask in masks.items():
        # Spark's names have no case: nor must a text be seen because a value writes it otherwise.
        column = next((one for one in columns if one.name.lower() == name.lower()), None)
        if column is None and feed.payload.grows:
            continue  # once a value brings it along, it is hidden
        if column is None:
            fact = f"names {name}, which is no column of silver"
            raise FeedError(thing, fact, f"It has {', '.join(columns.names)}")
        if not pa.types.is_string(column.type):
            fact = f"names {name}, which is {in_words(column.type)} and no text"
            raise FeedError(thing, fact, f"Select it as text: `cast({name} as string) as {name}`")
        by_column[column.name] = mask
        hidden.update(by_name[column.name].reads if column.name in by_name else ())
    if masks and feed.payload.csv is not None:
        hidden.add(RECORD)  # a record that is rescued as a whole has all of its fields
    return Masks(
        by_column=by_column,
        hidden_names=frozenset(hidden),
        hides_rescued=bool(masks) and feed.transform is not None,
        key=key,
    )
