"""Up to which time a gold table's windows are closed: in its commit, beside its position.

What follows from it is decided in `gold.windows`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

WINDOWS_UNTIL = "lake_assets.windows_until"
"""Key in a gold commit's metadata: the end of the last closed window, in microseconds since 1970;
empty if none is."""

LATE_ROWS = "lake_assets.late_rows"
"""Key in a gold commit's metadata: how many rows came too late since the table was last computed
in full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowPosition:
    """How far a table's windows are."""

    until: int | None
    """As `WINDOWS_UNTIL`."""

    late_rows: int = 0
    """As `LATE_ROWS`."""

    @classmethod
    def of(cls, info: Mapping[str, str]) -> Self | None:
        """Read it from a commit's metadata; None if there is none that can be."""
        try:
            until, late = info[WINDOWS_UNTIL], int(info[LATE_ROWS])
            return cls(until=int(until) if until else None, late_rows=late)
        except (KeyError, ValueError):
            return None

    @property
    def info(self) -> dict[str, str]:
        """The metadata that it is read from."""
        until = "" if self.until is None else str(self.until)
        return {WINDOWS_UNTIL: until, LATE_ROWS: str(self.late_rows)}
