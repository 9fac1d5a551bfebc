"""Which gold views are behind their silver, by Delta logs alone: cheap enough for every tick."""

from pathlib import Path

from lake_assets.gold.blocks import blocked_games
from lake_assets.gold.plan import is_behind
from lake_assets.lake.catalog import games_of
from lake_assets.lake.failing import Failures
from lake_assets.lake.history import open_table, state_of
from lake_assets.lake.standing import position_from
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import gold_of, silver_of


def views_behind(
    lake: Path, feed: Feed, failures: Failures | None = None
) -> dict[str, tuple[str, ...]]:
    """By view of the feed, the games whose silver has moved on since its last refresh.

    Games that something blocking among `failures` holds up are left out.
    """
    silver = {
        game: handle.version()
        for game in games_of(lake, feed)
        if (handle := open_table(lake, silver_of(game))) is not None
    }
    blocked = blocked_games(feed, failures or {}, silver)
    behind: dict[str, tuple[str, ...]] = {}
    for view in feed.gold:
        positions = {
            game: position_from(state_of(handle).info)
            for game in silver
            if (handle := open_table(lake, gold_of(game, view.name))) is not None
        }
        behind[view.name] = tuple(
            game
            for game, version in silver.items()
            if game not in blocked and is_behind(view, version, positions.get(game))
        )
    return behind
