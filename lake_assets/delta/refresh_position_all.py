"""Which silver a table over all keys stands for: a commit a key, in its commit's metadata.

Its counterpart for the tables of one key is `delta.refresh_position`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from lake_assets.delta.refresh_position import DEFINITION

SILVER_VERSIONS = "lake_assets.silver_versions"
"""Key in the commit's metadata: by key, the silver version that the view stands for, as JSON."""

SILVER_COMMITS = "lake_assets.silver_commits"
"""Key in the commit's metadata: by key, the digest of that version's commit, as JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionOfAll:
    """How far a table over all keys has got."""

    versions: Mapping[str, int]
    """By key; those that had no silver are absent."""

    commits: Mapping[str, str]
    """By key, `commit_digest` of the version; empty if silver's log had forgotten it."""

    definition: str

    @classmethod
    def of(cls, info: Mapping[str, str]) -> Self | None:
        """Read a position from the table's commit metadata."""
        if SILVER_VERSIONS not in info:
            return None
        return cls(
            versions=json.loads(info[SILVER_VERSIONS]),
            commits=json.loads(info.get(SILVER_COMMITS, "{}")),
            definition=info[DEFINITION],
        )

    @property
    def info(self) -> dict[str, str]:
        """The metadata that it is read from."""
        return {
            SILVER_VERSIONS: json.dumps(self.versions, sort_keys=True),
            SILVER_COMMITS: json.dumps(self.commits, sort_keys=True),
            DEFINITION: self.definition,
        }
