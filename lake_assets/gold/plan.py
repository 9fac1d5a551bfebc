"""Deciding what a refresh must do: which games' views are behind their silver. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from lake_assets.model.feeds import GoldView

SILVER_VERSION = "lake_assets.silver_version"
"""Key in a gold commit's metadata: the silver version that the view stands for."""

DEFINITION = "lake_assets.view_definition"
"""Key in a gold commit's metadata: a hash of the view's definition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """How far a gold table has got."""

    silver_version: int
    definition: str


def definition_of(view: GoldView) -> str:
    """A hash of what a view computes; its schedule does not matter."""
    text = view.model_dump_json(exclude={"schedule"})
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_behind(view: GoldView, silver_version: int, position: Position | None) -> bool:
    """Whether a game's view must be computed: never done, silver moved on, or defined anew."""
    if position is None:
        return True
    return position != Position(silver_version=silver_version, definition=definition_of(view))


def position_from(info: Mapping[str, str]) -> Position | None:
    """Read a position from a gold table's commit metadata."""
    if SILVER_VERSION not in info:
        return None
    return Position(silver_version=int(info[SILVER_VERSION]), definition=info[DEFINITION])


def info_of(view: GoldView, silver_version: int) -> dict[str, str]:
    """The commit metadata that records a position together with the data."""
    return {SILVER_VERSION: str(silver_version), DEFINITION: definition_of(view)}
