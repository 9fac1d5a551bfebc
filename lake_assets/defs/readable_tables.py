"""Which table a user means who names an asset and a partition, or a feed, a view and a key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import dagster as dg

from lake_assets.defs.keys import gold_key, name_of, own_keys, silver_key
from lake_assets.delta.catalog import keys_of
from lake_assets.errors import LakeError
from lake_assets.feeds.load import find_feed
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of

_SHOWN = 12
"""Names that an error lists."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a user names."""

    key: dg.AssetKey | str | Sequence[str] | None = None
    partition: str | None = None
    feed: str | None = None
    view: str | None = None


def table_asked_for(
    settings: Settings, feeds: Sequence[Feed], asked: Asked
) -> tuple[TableRef, str]:
    """The table, and what to do if it is not there yet.

    Raises:
        LakeError: no asset, feed or view has that name, or it has no such partition.
        FeedError: no feed has that name.
    """
    feed, view = _named(settings, feeds, asked)
    asset = silver_key(settings, feed) if view is None else gold_key(settings, feed, view)
    if view is not None and view.is_over_all:
        if asked.partition is not None:
            fact = f"is one table over all keys, and partition {asked.partition!r} is named"
            raise LakeError(_shown(asset), fact, "Leave the partition out")
        step = f"Materialize {name_of(asset)}, or run `lake-assets refresh`"
        return feed.gold_table(view, EVERY_KEY), step
    known = keys_of(lake_of(settings), feed)
    if asked.partition is None:
        fact = "has a table a key, and no partition is named"
        raise LakeError(_shown(asset), fact, f"Name one of: {_listed(known)}")
    if asked.partition not in known:
        fact = f"has no partition {asked.partition!r}"
        raise LakeError(_shown(asset), fact, f"It has: {_listed(known)}")
    if view is None:
        step = f"No row of {asked.partition} has come yet: start the streams, or wait for one"
        return feed.silver_table(asked.partition), step
    step = f"Materialize partition {asked.partition} of {name_of(asset)} first"
    return feed.gold_table(view, asked.partition), step


def _named(settings: Settings, feeds: Sequence[Feed], asked: Asked) -> tuple[Feed, GoldView | None]:
    if (asked.key is None) == (asked.feed is None):
        given = "neither a key nor a feed" if asked.key is None else "a key and a feed"
        raise LakeError("what to read", f"is named by {given}", "Give one of them")
    if asked.feed is not None:
        return _of_feed(find_feed(feeds, asked.feed), asked.view)
    if asked.view is not None:
        fact = f"is named by a key, and view {asked.view!r} besides"
        raise LakeError("what to read", fact, "Give a feed with the view, or the key alone")
    known = _readable(settings, feeds)
    key = _as_key(asked.key or "")
    if key not in known:
        raise _unknown(settings, feeds, key, known)
    return known[key]


def _of_feed(feed: Feed, name: str | None) -> tuple[Feed, GoldView | None]:
    if name is None:
        if not feed.has_silver:
            fact = "has no silver tables (`silver: none`)"
            raise LakeError(f"feed {feed.feed!r}", fact, "Name one of its views, if it has any")
        return feed, None
    views = {view.name: view for view in feed.gold}
    if name not in views:
        fact = f"has no gold view {name!r}"
        raise LakeError(f"feed {feed.feed!r}", fact, f"It has: {_listed([*views])}")
    return feed, views[name]


def _readable(
    settings: Settings, feeds: Sequence[Feed]
) -> Mapping[dg.AssetKey, tuple[Feed, GoldView | None]]:
    silver = {
        silver_key(settings, feed): (feed, None)
        for feed in feeds
        if feed.has_silver and not feed.into
    }
    gold = {gold_key(settings, feed, view): (feed, view) for feed in feeds for view in feed.gold}
    return {**silver, **gold}


def _as_key(key: dg.AssetKey | str | Sequence[str]) -> dg.AssetKey:
    return key if isinstance(key, dg.AssetKey) else dg.AssetKey.from_coercible(_parts(key))


def _parts(key: str | Sequence[str]) -> list[str]:
    return key.split("/") if isinstance(key, str) else [*key]


def _unknown(
    settings: Settings, feeds: Sequence[Feed], key: dg.AssetKey, known: Mapping[dg.AssetKey, object]
) -> LakeError:
    if any(key in own_keys(settings, feed) for feed in feeds):
        fact = "is neither silver nor gold, and only these are read as rows"
        return LakeError(_shown(key), fact, f"Name one of: {_listed_keys(known)}")
    names = [name_of(one) for one in known]
    near = get_close_matches(name_of(key), names, n=1)
    step = f"Did you mean {near[0]!r}?" if near else f"It has: {_listed_keys(known)}"
    return LakeError(_shown(key), "is no asset of this lake", step)


def _listed_keys(keys: Mapping[dg.AssetKey, object]) -> str:
    return _listed([name_of(key) for key in keys])


def _shown(asset: dg.AssetKey) -> str:
    return f"asset {name_of(asset)!r}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "none yet") + more
