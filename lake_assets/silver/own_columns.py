"""Which columns a key's table has, where each has those of its own rows alone."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lake_assets.formats.base import Decoder, HasMessageColumns
from lake_assets.model.feeds import Feed
from lake_assets.silver.selecting_by_key import SelectingByKeyDecoder
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.silver.selection import Output


def own_columns(
    feed: Feed, keys: Sequence[str], decoded: pa.Schema, decoder: Decoder
) -> Sequence[pa.Schema]:
    """Of each key, the columns that its rows may have a value in; all where tables share them.

    Args:
        feed: whose keys.
        keys: for which it is asked.
        decoded: the columns of all of them.
        decoder: what decodes.

    Raises:
        TypeError: the decoder does not tell, so values could be left out.
    """
    if not feed.has_own_columns:
        return [decoded] * len(keys)
    names = _names_of(feed, keys, decoder)
    made: dict[frozenset[str], pa.Schema] = {}
    found = []
    for key in keys:
        split = {column.source for column in feed.layout_of(key).partition_by}
        own = names.get(key, frozenset()) | split
        if own not in made:
            made[own] = pa.schema([column for column in decoded if column.name in own])
        found.append(made[own])
    return found


def columns_apart(decoder: Decoder) -> Mapping[str, frozenset[str]]:
    """Of keys or message types, whichever tell, the columns that their rows may have.

    Raises:
        TypeError: the decoder does not tell.
    """
    if isinstance(decoder, SelectingByKeyDecoder):
        return {key: decoder.names_of(key) for key in ("", *decoder.by_key)}
    return message_columns(decoder)


def _names_of(feed: Feed, keys: Sequence[str], decoder: Decoder) -> Mapping[str, frozenset[str]]:
    if isinstance(decoder, SelectingByKeyDecoder):
        return {key: decoder.names_of(key) for key in keys}
    (route,) = feed.all_routes
    names: dict[str, frozenset[str]] = {}
    for message, columns in message_columns(decoder).items():
        key = route.aliases.get(message, message)
        names[key] = names.get(key, frozenset()) | columns
    return names


def message_columns(decoder: Decoder) -> Mapping[str, frozenset[str]]:
    """By message type, the columns that its rows may have, also of what is selected of them.

    Raises:
        TypeError: the decoder does not tell.
    """
    if isinstance(decoder, SelectingDecoder):
        return {
            message: frozenset(one.name for one in decoder.outputs if _may_have(one, columns))
            for message, columns in message_columns(decoder.inner).items()
        }
    if isinstance(decoder, HasMessageColumns):
        return decoder.message_columns
    message = f"{type(decoder).__name__} does not tell which message types have which columns"
    raise TypeError(message)


def _may_have(one: Output, columns: frozenset[str]) -> bool:
    """Whether rows with these columns alone may have a value in a selected one."""
    return not one.is_null_with_any or columns.issuperset(one.reads)
