"""Names of a lake's assets and partitions, for assets of others that build on them."""

from collections.abc import Callable

import dagster as dg

from lake_assets.composition.arguments import Asked, Lake, Place, Words, settings_by, words_of
from lake_assets.composition.built_lakes import IsOf, built_lakes, every_lake
from lake_assets.defs import keys
from lake_assets.errors import FeedError, SettingsError
from lake_assets.feeds.load import find_feed
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import bronze_of
from lake_assets.state.lake_id import lake_id


def bronze_key(feed: str, *, key_prefix: Words | None = None) -> dg.AssetKey:
    """The asset of a feed's raw rows; see `gold_key`."""

    def known(lake: Lake) -> dg.AssetKey:
        return keys.bronze_key(lake.settings, find_feed(lake.feeds, feed))

    return _key(f"bronze_key({feed!r})", bronze_of(feed).name, known, key_prefix)


def silver_key(feed: str, *, key_prefix: Words | None = None) -> dg.AssetKey:
    """The asset of a feed's silver tables, one partition a key; see `gold_key`."""

    def known(lake: Lake) -> dg.AssetKey:
        return keys.silver_key(lake.settings, _with_silver(find_feed(lake.feeds, feed)))

    return _key(f"silver_key({feed!r})", keys.silver_name(feed), known, key_prefix)


def gold_key(feed: str, view: str, *, key_prefix: Words | None = None) -> dg.AssetKey:
    """The asset of a gold view, one partition a key unless it is over all keys.

    Args:
        feed: the feed's name.
        view: the view's.
        key_prefix: the lake's prefix. Left out, it is that of the lake that this code location
            builds; where it builds none, that of the environment. Names are looked up in the lake
            if it is built here, and taken as they are if not.

    Raises:
        FeedError: the lake has no such feed or view.
        SettingsError: several lakes are built here, and no prefix says which one is meant.
    """

    def known(lake: Lake) -> dg.AssetKey:
        whose = find_feed(lake.feeds, feed)
        return keys.gold_key(lake.settings, whose, _view(whose, view))

    call = f"gold_key({feed!r}, {view!r})"
    return _key(call, keys.gold_name(feed, view), known, key_prefix)


def partitions_of(
    feed: str, *, lake: Place | None = None, key_prefix: Words | None = None
) -> dg.DynamicPartitionsDefinition:
    """The keys of a feed, one partition each, for assets of others that have the same.

    Args:
        feed: the feed's name.
        lake: where its tables are, if this code location builds none or several.
        key_prefix: in place of it, the prefix of a lake that is built here.

    Raises:
        FeedError: the lake has no such feed.
        SettingsError: it is not clear which lake is meant.
        LakeError: its id can be neither read nor made.
    """
    call = f"partitions_of({feed!r})"
    if lake is not None:
        settings = settings_by(Asked(lake=lake), {})
        root = str(settings.lake_root)
        built = built_lakes.at(root)
        if built is not None:
            return _partitions(built, feed)
        made = keys.partitions_named(feed, lake_id(settings))
        _note_partitions(call, made, feed, lambda one: str(one.settings.lake_root) == root)
        return made
    prefix = None if key_prefix is None else words_of(key_prefix)
    found = built_lakes.find(call, prefix)
    if found is not None:
        return _partitions(found, feed)
    if prefix is not None:
        fact = f"no lake with the prefix {'/'.join(prefix)} is built here"
        raise SettingsError(call, fact, "Say where it is (`lake`)")
    made = keys.partitions_named(feed, lake_id(settings_by(Asked(), {})))
    _note_partitions(call, made, feed)
    return made


def _note_partitions(
    call: str, made: dg.DynamicPartitionsDefinition, feed: str, is_of: IsOf = every_lake
) -> None:
    built_lakes.note_early(
        call, str(made.name), lambda one: str(_partitions(one, feed).name), is_of
    )


def _partitions(lake: Lake, feed: str) -> dg.DynamicPartitionsDefinition:
    owner = tables_owner(_with_silver(find_feed(lake.feeds, feed)))
    return keys.partitions_named(owner, lake_id(lake.settings))


def _key(
    call: str, name: str, known: Callable[[Lake], dg.AssetKey], key_prefix: Words | None
) -> dg.AssetKey:
    prefix = None if key_prefix is None else words_of(key_prefix)
    lake = built_lakes.find(call, prefix)
    if lake is not None:
        return known(lake)
    if prefix is None:
        made = keys.key_of(settings_by(Asked(), {}), name)
    else:
        made = dg.AssetKey([*prefix, name])

    def is_of(one: Lake) -> bool:
        return prefix is None or one.prefix == tuple(prefix)

    built_lakes.note_early(call, keys.name_of(made), lambda one: keys.name_of(known(one)), is_of)
    return made


def _with_silver(feed: Feed) -> Feed:
    if not feed.has_silver:
        fact = "has no silver tables (`silver: none`)"
        raise FeedError(f"feed {feed.feed!r}", fact, "Name its bronze")
    return feed


def _view(feed: Feed, name: str) -> GoldView:
    views = {view.name: view for view in feed.gold}
    if name not in views:
        known = ", ".join(views) or "none"
        fact = f"has no gold view {name!r}"
        raise FeedError(f"feed {feed.feed!r}", fact, f"Its views are: {known}")
    return views[name]
