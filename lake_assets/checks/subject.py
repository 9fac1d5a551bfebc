"""What a check is about and what it found, as plain facts that judging needs; no table is open."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from lake_assets.model.tables import TableRef

CheckedValue: TypeAlias = int | float | datetime | None
"""Rows, a sum or a time, by what is checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One key's table, or one of all keys."""

    key: str
    """`EVERY_KEY` of a table over all."""

    table: TableRef
    version: int | None
    """Version that is checked; None if the table is not there yet: then it has no rows."""

    source_version: int | None = None
    """Version of silver that a key's gold table stands for."""

    source_rows: int | None = None
    """Rows of the silver that it stands for; None if silver's log has forgotten it."""
