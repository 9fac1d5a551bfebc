"""How far a topic is in a table: the Kafka offsets that the table's own commits record.

A commit records the next offset of each partition that it took rows of, as Delta's application
transactions: they outlive the log's retention, and a table that is copied or restored has the
offsets that fit its rows. Talks to no broker. Format: the Delta protocol's "Transaction
Identifiers", https://github.com/delta-io/delta/blob/master/PROTOCOL.md#transaction-identifiers
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, DataFile
from lake_assets.delta.data_files import read_file
from lake_assets.delta.origins import COLUMNS, Place

Offsets: TypeAlias = Mapping[Place, int]
"""By topic and partition, the offset that comes next."""

BEGIN = "lake_assets.begin_offsets"
"""Key in a commit's custom metadata: by topic and partition, the offset of its first row, as
JSON."""

_BEGUN = "kafka-begun:"
"""How the application ids `kafka-begun:<topic>:<partition>` begin, under which a table records the
offset that a partition was first read from."""

_TOPIC = "kafka:"
"""How the application ids begin: `kafka:<topic>` has the number of partitions that were met,
`kafka:<topic>:<partition>` the partition's next offset. A topic's name has no colon."""


def topic_app(topic: str) -> str:
    """The application id under which a table records which topic of that name its rows are of."""
    return f"kafka-topic:{topic}"


def offset_transactions(reached: Offsets, before: Offsets) -> list[Batch]:
    """What a commit records that takes a table from some offsets to others.

    Args:
        reached: of all partitions that are known, so that their number is.
        before: what the table records already; of a partition that stays there nothing is said.
    """
    counts: dict[str, int] = {}
    for topic, partition in reached:
        counts[topic] = max(counts.get(topic, 0), partition + 1)
    transactions = [Batch(f"{_TOPIC}{topic}", count) for topic, count in counts.items()]
    return transactions + [
        Batch(f"{_TOPIC}{topic}:{partition}", offset)
        for (topic, partition), offset in reached.items()
        if before.get((topic, partition)) != offset
    ]


def table_offsets(handle: DeltaTable, topic: str) -> dict[Place, int]:
    """How far a table is in a topic; empty if its commits record nothing of it."""
    count = handle.transaction_version(f"{_TOPIC}{topic}") or 0
    offsets = ((p, handle.transaction_version(f"{_TOPIC}{topic}:{p}")) for p in range(count))
    return {(topic, partition): offset for partition, offset in offsets if offset is not None}


def begun_transactions(offsets: Offsets) -> list[Batch]:
    """What a commit records of partitions that a table begins to have: the first offset of each."""
    return [Batch(f"{_BEGUN}{topic}:{partition}", at) for (topic, partition), at in offsets.items()]


def begun_offsets(handle: DeltaTable, places: Iterable[Place]) -> dict[Place, int]:
    """The first offsets that a table was to have; 0 where its commits do not tell."""
    return {
        (topic, partition): handle.transaction_version(f"{_BEGUN}{topic}:{partition}") or 0
        for topic, partition in places
    }


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
    folder: Path, files: Sequence[DataFile], columns: Sequence[str] = COLUMNS
) -> dict[Place, int]:
    """How far a table of Kafka's rows is, by the rows: of one whose commits do not tell.

    Args:
        folder: of the table.
        files: its own.
        columns: what they call topic, partition and offset.
    """
    positions: list[dict[Place, int]] = []
    for file in files:
        rows = read_file(folder / file.path, columns).select(columns).rename_columns([*COLUMNS])
        last = rows.group_by(["topic", "partition"]).aggregate([("offset", "max")])
        next_ = pc.add(last["offset_max"], pa.scalar(1))
        places = zip(last["topic"].to_pylist(), last["partition"].to_pylist(), strict=True)
        positions.append(dict(zip(places, next_.to_pylist(), strict=True)))
    return furthest(positions)


def recorded_offsets(transactions: Mapping[str, int]) -> dict[Place, int]:
    """The offsets among some application transactions."""
    offsets = {}
    for app_id, version in transactions.items():
        topic, colon, partition = app_id.removeprefix(_TOPIC).partition(":")
        if app_id.startswith(_TOPIC) and colon:
            offsets[topic, int(partition)] = version
    return offsets


def furthest(positions: Iterable[Offsets]) -> dict[Place, int]:
    """By partition, the greatest of some offsets."""
    offsets: dict[Place, int] = {}
    for position in positions:
        for place, offset in position.items():
            offsets[place] = max(offset, offsets.get(place, offset))
    return offsets


def as_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets as JSON has them: by topic, then by partition."""
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        by_topic.setdefault(topic, {})[str(partition)] = offset
    return by_topic


def from_json(found: Mapping[str, Mapping[str, int]]) -> dict[Place, int]:
    """What `as_json` made."""
    return {
        (t, int(p)): offset
        for t, by_partition in found.items()
        for p, offset in by_partition.items()
    }
