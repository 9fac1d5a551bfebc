"""Deciding whether a view over all games is behind, and what holds it up. Pure.

Its counterpart for the views with a table a game is `gold.refresh_need`.
"""

from collections.abc import Mapping

from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.gold.refresh_need import Silver


def position_now(definition: str, silver: Mapping[str, Silver]) -> PositionOfAll:
    """Where a view gets by a refresh.

    Args:
        definition: of the view.
        silver: by game; games without silver are absent.
    """
    return PositionOfAll(
        versions={game: one.version for game, one in silver.items()},
        commits={game: one.commit for game, one in silver.items()},
        definition=definition,
    )


def is_all_behind(
    definition: str, silver: Mapping[str, Silver], position: PositionOfAll | None
) -> bool:
    """Whether a view must be computed.

    It must if it never was, is redefined, or a game's silver moved on, was restored, came or
    went. Without any silver there is nothing to compute.
    """
    return bool(silver) and position != position_now(definition, silver)


def unread(
    definition: str, silver: Mapping[str, Silver], position: PositionOfAll | None
) -> tuple[str, ...]:
    """The games whose silver, as it is now, would come into the view by a refresh."""
    if position is None or position.definition != definition:
        return tuple(silver)
    return tuple(
        game
        for game, one in silver.items()
        if position.versions.get(game) != one.version or position.commits.get(game) != one.commit
    )


def held_up_by(unread_games: tuple[str, ...], blocked: Mapping[str, str]) -> str | None:
    """Why the view must stay as it is, in words; None if nothing holds it up.

    One game that fails something blocking is enough, since its rows cannot be told apart in the
    view, unless the view stands for that silver already: leaving it as it is would repair nothing.

    Args:
        unread_games: what a refresh would bring into the view.
        blocked: by game, what it fails.
    """
    return next((f"{game}: {blocked[game]}" for game in unread_games if game in blocked), None)
