"""Which silver a gold table stands for: written with its rows into the commit, and read from there.

Whether that is good enough is decided in `gold.plan`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

SILVER_VERSION = "lake_assets.silver_version"
"""Key in a gold commit's metadata: the silver version that the view stands for."""

DEFINITION = "lake_assets.view_definition"
"""Key in a gold commit's metadata: a hash of the view's definition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """How far a gold table has got."""

    silver_version: int
    definition: str


def position_from(info: Mapping[str, str]) -> Position | None:
    """Read a position from a gold table's commit metadata."""
    if SILVER_VERSION not in info:
        return None
    return Position(silver_version=int(info[SILVER_VERSION]), definition=info[DEFINITION])
