"""A batch of a sink: which files of which tables, noted before its first call.

A batch that was cut off runs again over the same files, so that the same rows go together under the
same keys, whatever the tables have got meanwhile. The note is in the state folder; without it, rows
that were not recorded may go together otherwise, and no row is lost.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake.exceptions import DeltaError

from lake_assets.delta.commit import DataFile
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.data_files import are_whole
from lake_assets.delta.increments import Point
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.tables import Layer, TableRef
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.gained import gained_since
from lake_assets.storage.store import Store

_LOG = logging.getLogger(__name__)

_MOST_ROWS = 50_000
"""Of a batch, after which no further version is taken. It is read piece by piece, and a file is
taken whole; fewer make more commits, more a longer repetition where the note is lost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What a batch takes of one table."""

    table: TableRef
    after: Point
    until: Point
    files: tuple[DataFile, ...]
    has_deleted_rows: bool = False

    has_other_columns: bool = False
    """Whether what is known of the table's columns may be wrong."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkBatch:
    """What is sent between two positions."""

    number: int
    parts: tuple[Part, ...]

    @property
    def has_files(self) -> bool:
        """Whether there may be anything to send."""
        return any(part.files for part in self.parts)


def next_batch(
    lake: Store, deliveries: Deliveries, points: dict[TableRef, Point], note: Path
) -> SinkBatch | None:
    """What is to be sent next; None if the tables have nothing new.

    Args:
        lake: where the tables are.
        deliveries: of the sink.
        points: the tables, each with the version up to which it is done.
        note: where a batch is noted.

    Raises:
        LakeError: a table cannot be read.
    """
    number = deliveries.batch + 1
    noted = read_note(note)
    if noted is not None and noted.number == number and _fits(lake, noted, points):
        return noted
    parts, rows = [], 0
    for table, after in points.items():
        gained = gained_since(log_of(lake, table), after, max_rows=_MOST_ROWS - rows)
        if gained is None:
            continue
        parts.append(
            Part(
                table=table,
                after=after,
                until=gained.until,
                files=gained.files,
                has_deleted_rows=gained.has_deleted_rows,
                has_other_columns=gained.has_other_columns,
            )
        )
        rows += sum(file.rows for file in gained.files)
        if rows >= _MOST_ROWS:
            break
    return SinkBatch(number=number, parts=tuple(parts)) if parts else None


def _fits(lake: Store, noted: SinkBatch, points: dict[TableRef, Point]) -> bool:
    """Whether the batch that was noted can run, and is what comes next."""
    for part in noted.parts:
        point = points.get(part.table)
        if point is None or point.version != part.after.version:
            return False
        log = log_of(lake, part.table)
        if not (_is_readable(log, part) and are_whole(log, part.files)):
            _LOG.warning(
                "%s: files of a batch that was cut off are gone; its rows may go together "
                "otherwise than before, under other keys",
                part.table.name,
            )
            return False
    return True


def _is_readable(log: TableLog, part: Part) -> bool:
    """Whether the version that a part ends with is there still, and no other of its number."""
    if commit_digest(log, part.until.version) != part.until.digest:
        return False
    try:
        log.open(part.until.version)
    except DeltaError:
        return False  # its log was shortened meanwhile
    return True


def write_note(note: Path, batch: SinkBatch) -> None:
    """Note a batch that is about to run.

    Raises:
        OSError: the note cannot be written.
    """
    replace_text(note, json.dumps({"number": batch.number, "parts": _json_of(batch.parts)}))


def _json_of(parts: Sequence[Part]) -> list[dict[str, Any]]:
    return [
        {
            "layer": part.table.layer.value,
            "name": part.table.name,
            "after": part.after.version,
            "until": part.until.version,
            "digest": part.until.digest,
            "files": [file.as_json for file in part.files],
            "has_deleted_rows": part.has_deleted_rows,
        }
        for part in parts
    ]


def read_note(note: Path) -> SinkBatch | None:
    """The batch that was noted last; None if none is, or it cannot be read."""
    try:
        told = json.loads(note.read_text())
        parts = tuple(_part_of(part) for part in told["parts"])
        return SinkBatch(number=int(told["number"]), parts=parts)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        _LOG.warning("the note of a batch cannot be read (%s); it is made anew", problem)
        return None


def _part_of(told: dict[str, Any]) -> Part:
    return Part(
        table=TableRef(layer=Layer(told["layer"]), name=told["name"]),
        after=Point(version=told["after"]),
        until=Point(version=told["until"], digest=told["digest"]),
        files=tuple(DataFile(**file) for file in told["files"]),
        has_deleted_rows=told["has_deleted_rows"],
        has_other_columns=True,
    )
