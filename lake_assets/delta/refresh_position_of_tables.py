"""Which tables a query over several stands for: a version each, in its commit's metadata.

Its counterparts for queries over one feed's silver alone are `delta.refresh_position` and
`delta.refresh_position_all`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from lake_assets.delta.refresh_position import DEFINITION

SOURCE_TABLES = "lake_assets.source_tables"
"""Key in the commit's metadata: by path below the lake, a table's version, Delta's id of it and the
digest of that version's commit, as JSON."""


class ReadVersion(NamedTuple):
    """A table as it was read."""

    version: int
    table: str
    """Its id in Delta."""

    commit: str
    """`commit_digest` of the version; empty if the log had forgotten it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionOfTables:
    """What a table was computed from."""

    tables: Mapping[str, ReadVersion]
    """By path below the lake; those that were not there are absent."""

    definition: str

    @classmethod
    def of(cls, info: Mapping[str, str]) -> Self | None:
        """Read a position from a table's commit metadata; None if there is none that can be."""
        try:
            noted = json.loads(info[SOURCE_TABLES])
            tables = {name: ReadVersion(*version) for name, version in noted.items()}
            return cls(tables=tables, definition=info[DEFINITION])
        except (KeyError, ValueError, TypeError, AttributeError):
            return None

    @property
    def info(self) -> dict[str, str]:
        """The metadata that it is read from."""
        return {
            SOURCE_TABLES: json.dumps(self.tables, sort_keys=True),
            DEFINITION: self.definition,
        }
