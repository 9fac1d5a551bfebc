"""Which games and tables a lake has, by its folders and a feed's declaration. Opens no table."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed, Unknown
from lake_assets.model.tables import Layer, TableRef, bronze_of, quarantine_of, silver_of

_SILVER_NAME = re.compile(r"silver_([a-z0-9_]{1,64})_events")


def games_of(lake: Path, feed: Feed) -> tuple[str, ...]:
    """The feed's games: its declared keys, and, where the route creates tables, those found."""
    if feed.route.unknown is not Unknown.CREATE:
        return feed.route.keys
    return games_found(lake, feed)


def games_found(lake: Path, feed: Feed) -> tuple[str, ...]:
    """The feed's declared keys, and every other game that has a silver table in the lake."""
    keys = feed.route.keys
    folder = lake / Layer.SILVER.value
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    found = [match[1] for name in names if (match := _SILVER_NAME.fullmatch(name))]
    return (*keys, *(game for game in found if game not in keys))


def ensure_known(feed: Feed, known: Collection[str], names: Iterable[str]) -> None:
    """Make sure that games a user names are among the known ones.

    Raises:
        FeedError: one is not.
    """
    missing = [name for name in names if name not in known]
    if missing:
        fact = f"has no game {missing[0]!r}"
        raise FeedError(f"feed {feed.feed!r}", fact, f"It has {', '.join(known) or 'none yet'}")


def tables_of(lake: Path, feed: Feed) -> tuple[TableRef, ...]:
    """All tables a feed may have, in the order data travels."""
    games = games_of(lake, feed)
    return (
        bronze_of(feed.feed),
        quarantine_of(feed.feed),
        *(silver_of(game) for game in games),
        *(feed.gold_table(view, scope) for view in feed.gold for scope in view.scopes(games)),
    )
