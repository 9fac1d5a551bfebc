"""Where a query's checkpoint is, and how far the query has got, read from it without Spark.

Spark's checkpoint keeps a file a batch in `offsets/` (what the batch takes) and in `commits/` (that
it is done); a source's offset is one line of JSON in the former.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lake_assets.lake.change import Batch
from lake_assets.model.reports import Hop, Span

_FIRST_SOURCE_LINE = 2
"""Line 0 is the format's version, line 1 the batch's metadata; then one line a source."""


def checkpoint_of(state_dir: Path, feed: str, hop: Hop) -> Path:
    """Folder of a query's checkpoint."""
    return state_dir / "checkpoints" / feed / hop.value


def ingested_offsets(checkpoint: Path, topic: str) -> dict[int, int]:
    """By partition of the topic, the offset after the last row that is in bronze."""
    return _offsets_of(_last_committed(checkpoint), topic)


def demuxed_version(checkpoint: Path) -> int:
    """The first version of bronze that demux has not finished; 0 if it has finished none.

    A version of which only some files are done counts as not finished. A new query begins with all
    files of one version, whichever version added them: until those are done, none is finished.
    """
    return _version_of(_last_committed(checkpoint))


def is_unbegun(checkpoint: Path) -> bool:
    """Whether demux has no batch that is done, nor one that counts the files of a snapshot."""
    if _last_done(checkpoint) is not None:
        return False
    is_planned = (checkpoint / "offsets" / "0").exists()
    return not (is_planned and _noted(checkpoint, 0).get("isStartingVersion"))


def span_of(checkpoint: Path, hop: Hop, batch_id: int, topic: str) -> Span:
    """What a batch took, while Spark still keeps the batch and the one before it."""
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    before = _noted(checkpoint, batch_id - 1) if batch_id else _start(checkpoint)
    until = _noted(checkpoint, batch_id)
    if hop is Hop.DEMUX:
        return Span(query=query, version_from=_version_of(before), version_to=_version_of(until))
    return Span(
        query=query,
        offsets_from=_offsets_of(before, topic),
        offsets_to=_offsets_of(until, topic),
    )


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
    noted = _noted(checkpoint, number)
    # Delta's source counts a commit's files from 0; below are its marks for "none of them yet".
    if int(noted["index"]) >= 0 or noted.get("isStartingVersion"):
        return None
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    return Settled(
        batch=Batch(app_id=query, version=number), bronze_version=int(noted["reservoirVersion"]) - 1
    )


def _last_committed(checkpoint: Path) -> dict[str, Any]:
    number = _last_done(checkpoint)
    return {} if number is None else _noted(checkpoint, number)


def _last_done(checkpoint: Path) -> int | None:
    done = [int(path.name) for path in checkpoint.glob("commits/*") if path.name.isdigit()]
    return max(done, default=None)


def _noted(checkpoint: Path, batch_id: int) -> dict[str, Any]:
    lines = (checkpoint / "offsets" / str(batch_id)).read_text().splitlines()
    return _parsed(lines[_FIRST_SOURCE_LINE])


def _start(checkpoint: Path) -> dict[str, Any]:
    """Where the Kafka source began; Delta's keeps no such file, and begins with version 0."""
    path = checkpoint / "sources" / "0" / "0"
    return _parsed(path.read_text().splitlines()[-1]) if path.exists() else {}


def _parsed(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


def _offsets_of(offset: dict[str, Any], topic: str) -> dict[int, int]:
    return {int(partition): end for partition, end in offset.get(topic, {}).items()}


def _version_of(offset: dict[str, Any]) -> int:
    return 0 if offset.get("isStartingVersion") else int(offset.get("reservoirVersion", 0))
