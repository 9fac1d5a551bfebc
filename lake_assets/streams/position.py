"""Where a query's checkpoint is, and how far the query has got, read from it without Spark.

Spark's checkpoint keeps a file a batch in `offsets/` (what the batch takes) and in `commits/` (that
it is done); a source's offset is one line of JSON in the former.
"""

import json
from pathlib import Path
from typing import Any

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


def _last_committed(checkpoint: Path) -> dict[str, Any]:
    done = [int(path.name) for path in checkpoint.glob("commits/*") if path.name.isdigit()]
    if not done:
        return {}
    lines = (checkpoint / "offsets" / str(max(done))).read_text().splitlines()
    found: dict[str, Any] = json.loads(lines[_FIRST_SOURCE_LINE])
    return found
