"""Deciding whether a view over all games is behind, and what holds it up. Pure.

Its counterpart for the views with a table a game is `gold.plan`.
"""

from collections.abc import Mapping

from lake_assets.gold.plan import definition_of
from lake_assets.lake.standing_all import PositionOfAll
from lake_assets.model.feeds import GoldView


def position_now(view: GoldView, versions: Mapping[str, int]) -> PositionOfAll:
    """Where the view gets by a refresh.

    Args:
        view: over all games.
        versions: of silver, by game; games without silver are absent.
    """
    return PositionOfAll(versions=versions, definition=definition_of(view))


def is_all_behind(
    view: GoldView, versions: Mapping[str, int], position: PositionOfAll | None
) -> bool:
    """Whether the view must be computed.

    It must if it never was, is defined anew, or a game's silver moved on, came or went. Without any
    silver there is nothing to compute.
    """
    return bool(versions) and position != position_now(view, versions)


def unread(
    view: GoldView, versions: Mapping[str, int], position: PositionOfAll | None
) -> tuple[str, ...]:
    """The games whose silver, as it is now, would come into the view by a refresh."""
    known = position.versions if position and position.definition == definition_of(view) else {}
    return tuple(game for game in versions if known.get(game) != versions[game])


def held_up_by(unread_games: tuple[str, ...], blocked: Mapping[str, str]) -> str | None:
    """Why the view must stay as it is, in words; None if nothing holds it up.

    One game that fails something blocking is enough, since its rows cannot be told apart in the
    view, unless the view stands for that silver already: leaving it as it is would mend nothing.

    Args:
        unread_games: what a refresh would bring into the view.
        blocked: by game, what it fails.
    """
    return next((f"{game}: {blocked[game]}" for game in unread_games if game in blocked), None)
