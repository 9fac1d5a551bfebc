"""Where a query's checkpoint is, and how far the query has got, read from it without Spark.

Spark's checkpoint keeps a file a batch in `offsets/` (what the batch takes) and in `commits/` (that
it is done); a source's offset is one line of JSON in the former.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lake_assets.lake.commits import Batch
from lake_assets.model.reports import Hop

_FIRST_SOURCE_LINE = 2
"""Line 0 is the format's version, line 1 the batch's metadata; then one line a source."""


def checkpoint_of(state_dir: Path, feed: str, hop: Hop) -> Path:
    """Folder of a query's checkpoint."""
    return state_dir / "checkpoints" / feed / hop.value


def ingested_offsets(checkpoint: Path, topic: str) -> dict[int, int]:
    """By partition of the topic, the offset after the last row that is in bronze."""
    noted = _last_committed(checkpoint)
    return {int(partition): end for partition, end in noted.get(topic, {}).items()}


def demuxed_version(checkpoint: Path) -> int:
    """The first version of bronze that demux has not finished; 0 if it has finished none.

    A version of which only some files are done counts as not finished.
    """
    return int(_last_committed(checkpoint).get("reservoirVersion", 0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """Where demux stands between two commits of bronze."""

    batch: Batch
    """Its last batch that is done."""

    bronze_version: int
    """The newest version of bronze of which it took all rows; -1 if of none."""


def settled(checkpoint: Path) -> Settled | None:
    """Where demux stands; None if it has finished no batch, or stands within a commit of bronze.

    Within a commit it stands only between the batches of one that is too large for one batch.
    """
    number = _last_done(checkpoint)
    if number is None:
        return None
    noted = _offset_of(checkpoint, number)
    # Delta's source counts a commit's files from 0; below are its marks for "none of them yet".
    if int(noted["index"]) >= 0:
        return None
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    return Settled(
        batch=Batch(app_id=query, version=number), bronze_version=int(noted["reservoirVersion"]) - 1
    )


def _last_committed(checkpoint: Path) -> dict[str, Any]:
    number = _last_done(checkpoint)
    return {} if number is None else _offset_of(checkpoint, number)


def _last_done(checkpoint: Path) -> int | None:
    done = [int(path.name) for path in checkpoint.glob("commits/*") if path.name.isdigit()]
    return max(done, default=None)


def _offset_of(checkpoint: Path, number: int) -> dict[str, Any]:
    lines = (checkpoint / "offsets" / str(number)).read_text().splitlines()
    found: dict[str, Any] = json.loads(lines[_FIRST_SOURCE_LINE])
    return found
