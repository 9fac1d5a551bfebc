"""Deciding whether a view over all keys is behind, and what holds it up. Pure.

Its counterpart for the views with a table a key is `gold.refresh_need`.
"""

from collections.abc import Mapping

from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.gold.refresh_need import Silver


def position_now(definition: str, silver: Mapping[str, Silver]) -> PositionOfAll:
    """Where a view gets by a refresh.

    Args:
        definition: of the view.
        silver: by key; keys without silver are absent.
    """
    return PositionOfAll(
        versions={key: snapshot.version for key, snapshot in silver.items()},
        commits={key: snapshot.commit for key, snapshot in silver.items()},
        definition=definition,
    )


def is_all_behind(
    definition: str, silver: Mapping[str, Silver], position: PositionOfAll | None
) -> bool:
    """Whether a view must be computed.

    It must if it never was, is redefined, or a key's silver moved on, was restored, came or
    went. Without any silver there is nothing to compute.
    """
    return bool(silver) and position != position_now(definition, silver)


def unread(
    definition: str, silver: Mapping[str, Silver], position: PositionOfAll | None
) -> tuple[str, ...]:
    """The keys whose silver, as it is now, would come into the view by a refresh."""
    if position is None or position.definition != definition:
        return tuple(silver)
    return tuple(
        key
        for key, snapshot in silver.items()
        if position.versions.get(key) != snapshot.version
        or position.commits.get(key) != snapshot.commit
    )


def held_up_by(unread_keys: tuple[str, ...], blocked: Mapping[str, str]) -> str | None:
    """Why the view must stay as it is, in words; None if nothing holds it up.

    One key that fails something blocking is enough, since its rows cannot be told apart in the
    view, unless the view stands for that silver already: leaving it as it is would repair nothing.

    Args:
        unread_keys: what a refresh would bring into the view.
        blocked: by key, what it fails.
    """
    return next((f"{key}: {blocked[key]}" for key in unread_keys if key in blocked), None)
