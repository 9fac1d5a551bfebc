"""Which silver a gold table stands for: written with its rows into the commit, and read from there.

Whether that is good enough is decided in `gold.refresh_need`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

SILVER_VERSION = "lake_assets.silver_version"
"""Key in a gold commit's metadata: the silver version that the view stands for."""

DEFINITION = "lake_assets.view_definition"
"""Key in a gold commit's metadata: a hash of the view's definition."""

SILVER_TABLE = "lake_assets.silver_table"
"""Key in a gold commit's metadata: the silver table's id; a new table has another."""

SILVER_COMMIT = "lake_assets.silver_commit"
"""Key in a gold commit's metadata: digest of that version's commit, which the same version of a
table that was restored and written again does not have."""

STATES = "lake_assets.states"
"""Key in a gold commit's metadata: the format of the states beside the values, a number."""

STATE_FORMAT = 1
"""That number, as `gold.measures` makes states. Raised when one changes its form; tables with
another one are recomputed."""

BUCKETS = "lake_assets.buckets"
"""Key in a gold commit's metadata: the number of buckets that the table's files hold."""


COLUMNS = "lake_assets.columns"
"""Key in a gold commit's metadata: the table's columns as Delta's JSON; only where the table asks
nothing of a writer but to add and remove files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """How far a gold table has got."""

    silver_version: int
    definition: str
    silver_table: str = ""
    """Empty in a commit that did not record it."""

    silver_commit: str = ""
    """`commit_digest` of that version; empty if silver's log had forgotten it."""

    states: int = 0
    """0 if the table keeps none that a refresh could merge with."""

    buckets: int = 1
    columns: str = ""
    """As `COLUMNS`; empty in a commit that did not record them."""


def position_from(info: Mapping[str, str]) -> Position | None:
    """Read a position from a gold table's commit metadata."""
    if SILVER_VERSION not in info:
        return None
    return Position(
        silver_version=int(info[SILVER_VERSION]),
        definition=info[DEFINITION],
        silver_table=info.get(SILVER_TABLE, ""),
        silver_commit=info.get(SILVER_COMMIT, ""),
        states=int(info.get(STATES, "0")),
        buckets=int(info.get(BUCKETS, "1")),
        columns=info.get(COLUMNS, ""),
    )
