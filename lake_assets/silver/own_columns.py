"""Which decoded columns a key's table has, where each has those of its own messages alone."""

from collections.abc import Sequence

import pyarrow as pa

from lake_assets.formats.base import Decoder, HasMessageColumns
from lake_assets.model.feeds import Feed


def own_columns(
    feed: Feed, keys: Sequence[str], decoded: pa.Schema, decoder: Decoder
) -> Sequence[pa.Schema]:
    """Of each key, the columns that its rows may have a value in; all where tables share them.

    Args:
        feed: whose keys.
        keys: for which it is asked.
        decoded: the columns of all of them.
        decoder: what decodes.
    """
    if not feed.has_own_columns or not isinstance(decoder, HasMessageColumns):
        return [decoded] * len(keys)
    (route,) = feed.all_routes
    names: dict[str, set[str]] = {}
    for message, columns in decoder.message_columns.items():
        names.setdefault(route.aliases.get(message, message), set()).update(columns)
    made: dict[frozenset[str], pa.Schema] = {}
    found = []
    for key in keys:
        split = {column.source for column in feed.layout_of(key).partition_by}
        own = frozenset(names.get(key, set()) | split)
        if own not in made:
            made[own] = pa.schema([column for column in decoded if column.name in own])
        found.append(made[own])
    return found
