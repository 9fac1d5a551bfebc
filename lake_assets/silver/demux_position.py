"""How far a feed's silver is in its bronze, as the commits of the feed's tables say.

Each batch of demux has a number. The tables that get rows of it record the number; the quarantine
table records it last, with the version of bronze that the batch reached. So the newest batch that
is whole is the quarantine's, and what another table has beyond it is a batch that was cut off.
Reading and writing of it; what follows from it is `silver.recovery`'s.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.increments import Point
from lake_assets.delta.source_offsets import Offsets, as_json, from_json

_NOWHERE = Point()

POSITION = "lake_assets.position"
"""Key in a quarantine commit's metadata: a `Position`, as JSON."""

_COMMITS_BACK = (1, 100, None)
"""How far the quarantine's log is read back for the newest batch: others may have written since."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """What the newest whole batch left."""

    number: int = 0
    """Of the batch; 0 if there was none."""

    bronze_id: str = ""
    """Delta's id of the bronze table."""

    bronze: Point = _NOWHERE
    """The version of bronze up to which all rows were taken."""

    offsets: Offsets = field(default_factory=dict)
    """The same by their origin: rows below were taken, whichever version of bronze has them."""

    tables: int = 0
    """A checksum of the newest batch of each table (`delta.transaction_numbers`)."""

    def to_json(self) -> str:
        """As a commit records it."""
        return json.dumps(
            {
                "number": self.number,
                "bronze_id": self.bronze_id,
                "version": self.bronze.version,
                "digest": self.bronze.digest,
                "offsets": as_json(self.offsets),
                "tables": self.tables,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` made.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: it is something else.
        """
        fields = json.loads(text)
        return cls(
            number=int(fields["number"]),
            bronze_id=str(fields["bronze_id"]),
            bronze=Point(version=int(fields["version"]), digest=str(fields["digest"])),
            offsets=from_json(fields["offsets"]),
            tables=int(fields["tables"]),
        )


def demux_app(feed: str) -> str:
    """The application id under which a feed's tables record the numbers of batches."""
    return f"lake_assets:demux:{feed}"


def reprocess_app(feed: str) -> str:
    """The application id under which a feed's tables record requeues, rebuilds and catching up."""
    return f"lake_assets:redo:{feed}"


def skip_app(feed: str) -> str:
    """The application id under which quarantine records rows of skipped batches of ingest."""
    return f"lake_assets:skip:{feed}"


def batch_of(feed: str, number: int) -> Batch:
    """The identity of a batch's commits."""
    return Batch(demux_app(feed), number)


def read_position(quarantine: DeltaTable, feed: str) -> Position | None:
    """The position that a feed's quarantine table records; None if it records none."""
    number = quarantine.transaction_version(demux_app(feed))
    if number is None:
        return None
    for limit in _COMMITS_BACK:
        commits = quarantine.history(limit)
        # The history is the folder's, which may have newer batches by now than what was opened.
        position = next((p for p in map(position_in, commits) if p and p.number == number), None)
        if position is not None:
            return position
        if limit is None or len(commits) < limit:
            break
    return None


def position_in(info: Mapping[str, Any]) -> Position | None:
    """The position that a commit's information has; None if it has none that can be read."""
    try:
        return Position.from_json(info[POSITION])
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
