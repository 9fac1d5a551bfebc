"""Deciding what a refresh must do: which games' views are behind their silver. Pure."""

import hashlib

from lake_assets.lake.standing import DEFINITION, SILVER_VERSION, Position
from lake_assets.model.feeds import GoldView


def definition_of(view: GoldView) -> str:
    """A hash of what a view computes; its schedule and its checks do not matter."""
    text = view.model_dump_json(exclude={"schedule", "checks"})
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_behind(view: GoldView, silver_version: int, position: Position | None) -> bool:
    """Whether a game's view must be computed: never done, silver moved on, or defined anew."""
    if position is None:
        return True
    return position != Position(silver_version=silver_version, definition=definition_of(view))


def info_of(view: GoldView, silver_version: int) -> dict[str, str]:
    """The commit metadata that records a position together with the data."""
    return {SILVER_VERSION: str(silver_version), DEFINITION: definition_of(view)}
