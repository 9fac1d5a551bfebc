"""Deciding what a refresh must do: which keys' views are behind, and how each catches up. Pure."""

import hashlib
from dataclasses import dataclass, field

from lake_assets.delta.refresh_position import (
    BUCKETS,
    COLUMNS,
    DEFINITION,
    SILVER_COMMIT,
    SILVER_TABLE,
    SILVER_VERSION,
    STATE_FORMAT,
    STATES,
    Position,
)
from lake_assets.gold.view_columns import ViewColumns
from lake_assets.model.expectations import Action
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import TableRef


@dataclass(frozen=True, kw_only=True, slots=True)
class Silver:
    """A key's silver as a refresh finds it."""

    version: int
    table: str
    """Its id in Delta."""

    commit: str = ""
    """`commit_digest` of the version; empty if the log has forgotten it."""


def definition_of(view: GoldView, session: str) -> str:
    """A hash of what a view computes; its pace, schedule, checks and words do not matter.

    Args:
        view: what is computed.
        session: `session_digest` of the session that computes it.
    """
    unused = {"refresh", "schedule", "checks", "description"}
    # Views of releases that knew no windows or keyed tables are not computed again.
    unused |= set() if view.windows else {"windows"}
    unused |= set() if view.keyed else {"keyed"}
    text = view.model_dump_json(exclude=unused)
    return hashlib.sha256(f"{session} {text}".encode()).hexdigest()[:16]


def is_behind(definition: str, silver: Silver, position: Position | None) -> bool:
    """Whether a key's view must be computed: never done, silver moved, or redefined.

    Args:
        definition: of the view.
        silver: as it is now.
        position: what the gold table stands for.
    """
    if position is None:
        return True
    is_other_table = bool(position.silver_table) and silver.table != position.silver_table
    has_moved = position.silver_version != silver.version
    has_other_rows = position.silver_commit != silver.commit
    return is_other_table or has_moved or has_other_rows or position.definition != definition


def unmergeable(view: GoldView) -> str:
    """Why no key of a view can be merged, whatever its measures are; empty if it can."""
    dropping = [e.name for e in view.expectations if e.action is Action.DROP]
    if dropping:
        # A row that is good later needs the states that it had when it was dropped.
        return f"{dropping[0]} drops rows, and with them what later rows would be merged with"
    return ""


def why_full(definition: str, silver: Silver, position: Position | None, commit_read: str) -> str:
    """Why a key must be computed from all of silver; empty if its log may tell otherwise.

    Args:
        definition: of the view.
        silver: as it is now.
        position: what the gold table stands for.
        commit_read: `commit_digest` of the position's version of silver, as silver's log has it
            now; empty if it has forgotten it.
    """
    if position is None:
        return "gold's newest commit is no refresh of this view"
    read = position.silver_version
    reasons = {
        "the view, Spark's settings or its version changed since": (
            position.definition != definition
        ),
        "the view keeps no states of this release": position.states != STATE_FORMAT,
        "silver is another table": position.silver_table != silver.table,
        "silver is at an older version": read > silver.version,
        f"silver's log has no version {read} any more": not commit_read,
        f"silver was restored: its version {read} is another one now": (
            position.silver_commit != commit_read
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewSnapshot:
    """One key's silver and gold at the versions that a refresh starts from."""

    key: str
    silver_table: TableRef
    gold_table: TableRef
    definition: str
    """Of the view, as it is now."""

    silver: Silver
    gold_version: int
    position: Position | None
    commit_read: str = ""
    """`commit_digest` of the position's version, as silver's log has it now."""

    columns: ViewColumns = field(default_factory=ViewColumns)
    """Of silver, that the view may read."""

    @property
    def is_behind(self) -> bool:
        """Whether the key's view must be brought up to date."""
        return is_behind(self.definition, self.silver, self.position)

    @property
    def why_full(self) -> str:
        """As `gold.refresh_need.why_full`."""
        return why_full(self.definition, self.silver, self.position, self.commit_read)


def why_not_beside(other: ViewSnapshot | None) -> str:
    """Why a key cannot be merged with what another of its tables remembers; empty if it can."""
    if other is None or other.position is None:
        return "what it must remember has not been computed yet"
    return other.why_full and f"what it must remember is to be computed anew: {other.why_full}"


def merged_upto(own: ViewSnapshot, other: ViewSnapshot | None) -> int:
    """Up to which version of silver both of a key's tables have all changes."""
    found = [one.position.silver_version for one in (own, other) if one and one.position]
    return min(found)


def info_of(
    definition: str, silver: Silver, *, states: int = 0, buckets: int = 1, columns: str = ""
) -> dict[str, str]:
    """The commit metadata that records a position together with the data.

    Args:
        definition: of the view that was computed.
        silver: from which silver.
        states: format of the states in the table; 0 without.
        buckets: number of them.
        columns: of the gold table, as Delta's JSON; empty if they are not to be recorded.
    """
    return {
        SILVER_VERSION: str(silver.version),
        DEFINITION: definition,
        SILVER_TABLE: silver.table,
        SILVER_COMMIT: silver.commit,
        STATES: str(states),
        BUCKETS: str(buckets),
        **({COLUMNS: columns} if columns else {}),
    }
