"""How far a source is in a table: the offsets that the table's own commits record.

A commit records the next offset of each partition that it took rows of, as Delta's application
transactions: they outlive the log's retention, and a table that is copied or restored has the
offsets that fit its rows. Asks no source. What is recorded begins with the kind of the source.
Format: the Delta protocol's "Transaction Identifiers",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#transaction-identifiers
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, DataFile
from lake_assets.delta.data_files import read_file
from lake_assets.delta.table_log import TableLog
from lake_assets.model.origins import ByPlace, OriginColumns, Place

Offsets: TypeAlias = ByPlace
"""By source and partition, the offset that comes next."""

_PlaceT = TypeVar("_PlaceT")

BEGIN = "lake_assets.begin_offsets"
"""Key in a commit's custom metadata: by source and partition, the offset of its first row, as
JSON."""

_RECORDED = re.compile(r"(?P<kind>[a-z]+):(?P<name>[^:]+):(?P<partition>\d+)")
"""The application ids under which a partition's next offset is recorded."""


@dataclass(frozen=True, slots=True)
class _Apps:
    """The application ids of a source; `kafka:games:0` has the next offset of its partition 0."""

    kind: str
    name: str

    @property
    def partitions(self) -> str:
        """Of the number of partitions that were met."""
        return f"{self.kind}:{self.name}"

    def next_offset(self, partition: int) -> str:
        """Of a partition's next offset."""
        return f"{self.kind}:{self.name}:{partition}"

    def begun(self, partition: int) -> str:
        """Of the offset that a partition was first read from."""
        return f"{self.kind}-begun:{self.name}:{partition}"

    def retained(self, partition: int) -> str:
        """Of the offset from which on a partition has all rows that it had."""
        return f"{self.kind}-retained:{self.name}:{partition}"


def identity_app(kind: str, name: str) -> str:
    """The application id under which a table records which source of that name its rows are of."""
    return f"{kind}-topic:{name}"  # lakes have it so, from when there was Kafka alone


def offset_transactions(kind: str, reached: Offsets, before: Offsets) -> list[Batch]:
    """What a commit records that takes a table from some offsets to others.

    Args:
        kind: of the source.
        reached: of all partitions that are known, so that their number is.
        before: what the table records already; of a partition that stays there nothing is said,
            and nothing of a source that has no other.
    """
    moved = {place: offset for place, offset in reached.items() if before.get(place) != offset}
    counts = dict.fromkeys((name for name, _ in moved), 0)
    for name, partition in reached:
        if name in counts:
            counts[name] = max(counts[name], partition + 1)
    transactions = [Batch(_Apps(kind, name).partitions, count) for name, count in counts.items()]
    return transactions + [
        Batch(_Apps(kind, name).next_offset(partition), offset)
        for (name, partition), offset in moved.items()
    ]


def table_offsets(handle: DeltaTable, kind: str, name: str) -> dict[Place, int]:
    """How far a table is in a source; empty if its commits record nothing of it."""
    apps = _Apps(kind, name)
    count = handle.transaction_version(apps.partitions) or 0
    offsets = ((p, handle.transaction_version(apps.next_offset(p))) for p in range(count))
    return {(name, partition): offset for partition, offset in offsets if offset is not None}


def is_known(handle: DeltaTable, kind: str, name: str) -> bool:
    """Whether a table's commits name a source, be it as one without partitions."""
    return handle.transaction_version(_Apps(kind, name).partitions) is not None


def known_transaction(kind: str, name: str) -> Batch:
    """What a commit records of a source that is not there yet and is to be read in full."""
    return Batch(_Apps(kind, name).partitions, 0)


def awaited_app(kind: str) -> str:
    """The application id under which a table records that a feed began before it had a source."""
    return f"{kind}-awaited"


def name_in(app_id: str, kind: str) -> str | None:
    """Which source of a kind an application id records a partition's next offset of, if it does."""
    match = _RECORDED.fullmatch(app_id)
    return match["name"] if match and match["kind"] == kind else None


def begun_transactions(kind: str, offsets: Offsets) -> list[Batch]:
    """What a commit records of partitions that a table begins to have: the first offset of each."""
    return [
        Batch(_Apps(kind, name).begun(partition), offset)
        for (name, partition), offset in offsets.items()
    ]


def begun_offsets(handle: DeltaTable, kind: str, places: Iterable[Place]) -> dict[Place, int]:
    """The first offsets that a table was to have; 0 where its commits do not tell."""
    return {
        (name, partition): handle.transaction_version(_Apps(kind, name).begun(partition)) or 0
        for name, partition in places
    }


def retained_transactions(kind: str, offsets: Offsets) -> list[Batch]:
    """What a commit records by which rows leave for their age: after the last, the next offset."""
    return [
        Batch(_Apps(kind, name).retained(partition), offset)
        for (name, partition), offset in offsets.items()
    ]


def retained_offsets(handle: DeltaTable, kind: str, places: Iterable[Place]) -> dict[Place, int]:
    """By partition that lost rows for their age, the offset from which on it has all of them."""
    offsets = (
        ((name, partition), handle.transaction_version(_Apps(kind, name).retained(partition)))
        for name, partition in places
    )
    return {place: offset for place, offset in offsets if offset is not None}


def begin_info(reached: Offsets, before: Offsets) -> dict[str, str]:
    """What a commit tells of where its rows begin, of the partitions that it has rows of.

    Whoever follows the table sees by it that rows come again which were there before.
    """
    begins = {
        place: before.get(place, 0) for place, end in reached.items() if before.get(place, 0) < end
    }
    return {BEGIN: json.dumps(as_json(begins))}


def begin_offsets(info: Mapping[str, Any]) -> Offsets | None:
    """What `begin_info` made; None if the commit does not tell."""
    try:
        return from_json(json.loads(info[BEGIN]))
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def offsets_of_rows(
    log: TableLog, files: Sequence[DataFile], columns: OriginColumns
) -> dict[Place, int]:
    """How far a table is in its sources, by the rows: of one whose commits do not tell.

    Args:
        log: of the table.
        files: its own.
        columns: what they call the origin's columns.
    """
    return furthest(next_offsets(read_file(log, file, columns.identity), columns) for file in files)


def next_offsets(rows: pa.Table, columns: OriginColumns) -> dict[Place, int]:
    """By source and partition of some rows, the offset after the last of them."""
    places = [name for name in (columns.name, columns.partition) if name]
    last = rows.group_by(places).aggregate([(columns.offset, "max")]).to_pylist()
    return {
        (row[columns.name], row[columns.partition] if columns.partition else 0): (
            row[f"{columns.offset}_max"] + 1
        )
        for row in last
    }


def recorded_offsets(transactions: Mapping[str, int], kind: str) -> dict[Place, int]:
    """The offsets of a kind of source among some application transactions."""
    matches = ((_RECORDED.fullmatch(app_id), offset) for app_id, offset in transactions.items())
    return {
        (match["name"], int(match["partition"])): offset
        for match, offset in matches
        if match and match["kind"] == kind
    }


def furthest(positions: Iterable[Mapping[_PlaceT, int]]) -> dict[_PlaceT, int]:
    """By partition, or whatever else tells places apart, the greatest of some offsets."""
    offsets: dict[_PlaceT, int] = {}
    for position in positions:
        for place, offset in position.items():
            offsets[place] = max(offset, offsets.get(place, offset))
    return offsets


def as_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets as JSON has them: by source, then by partition."""
    by_name: dict[str, dict[str, int]] = {}
    for (name, partition), offset in offsets.items():
        by_name.setdefault(name, {})[str(partition)] = offset
    return by_name


def from_json(found: Mapping[str, Mapping[str, int]]) -> dict[Place, int]:
    """What `as_json` made."""
    return {
        (name, int(partition)): offset
        for name, by_partition in found.items()
        for partition, offset in by_partition.items()
    }
