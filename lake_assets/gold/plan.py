"""Deciding what a refresh must do: which games' views are behind, and how each catches up. Pure."""

import hashlib
from dataclasses import dataclass

from lake_assets.gold.measures import STATE_FORMAT
from lake_assets.lake.standing import (
    BUCKETS,
    COLUMNS,
    DEFINITION,
    SILVER_TABLE,
    SILVER_VERSION,
    STATES,
    Position,
)
from lake_assets.model.feeds import Action, GoldView


@dataclass(frozen=True, kw_only=True, slots=True)
class Silver:
    """A game's silver as a refresh finds it."""

    version: int
    table: str
    """Its id in Delta."""


def definition_of(view: GoldView) -> str:
    """A hash of what a view computes; its schedule, checks and words do not matter."""
    text = view.model_dump_json(exclude={"schedule", "checks", "description"})
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_behind(
    view: GoldView, silver_version: int, position: Position | None, silver_table: str = ""
) -> bool:
    """Whether a game's view must be computed: never done, silver moved on, or defined anew.

    Args:
        view: what should be computed.
        silver_version: the newest.
        position: what the gold table stands for.
        silver_table: Delta's id of the silver table; empty if it is not known.
    """
    if position is None:
        return True
    is_other_table = bool(
        silver_table and position.silver_table and silver_table != position.silver_table
    )
    has_moved = position.silver_version != silver_version
    return is_other_table or has_moved or position.definition != definition_of(view)


def unmergeable(view: GoldView) -> str:
    """Why no game of a view can be merged, whatever its measures are; empty if it can."""
    dropping = [e.name for e in view.expectations if e.action is Action.DROP]
    if dropping:
        # A row that is good later needs the states that it had when it was dropped.
        return f"{dropping[0]} drops rows, and with them what later rows would be merged with"
    return ""


def why_full(view: GoldView, silver: Silver, position: Position | None) -> str:
    """Why a game must be computed from all of silver; empty if its log may tell otherwise."""
    if position is None:
        return "gold's newest commit is no refresh of this view"
    if position.definition != definition_of(view):
        return "the view is defined anew"
    if position.states != STATE_FORMAT:
        return "the view keeps no states of this release"
    if position.silver_table != silver.table:
        return "silver is another table"
    if position.silver_version > silver.version:
        return "silver is at an older version"
    return ""


def info_of(
    view: GoldView,
    silver_version: int,
    *,
    silver_table: str = "",
    states: int = 0,
    buckets: int = 1,
    columns: str = "",
) -> dict[str, str]:
    """The commit metadata that records a position together with the data.

    Args:
        view: what was computed.
        silver_version: from which silver.
        silver_table: Delta's id of it.
        states: format of the states in the table; 0 without.
        buckets: number of them.
        columns: of the gold table, as Delta's JSON; empty if they are not to be recorded.
    """
    return {
        SILVER_VERSION: str(silver_version),
        DEFINITION: definition_of(view),
        SILVER_TABLE: silver_table,
        STATES: str(states),
        BUCKETS: str(buckets),
        **({COLUMNS: columns} if columns else {}),
    }
