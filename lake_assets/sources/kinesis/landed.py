"""What lands of a stream (`sources.landing.table`): records as rows, and what was lost of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.model.origins import PROBLEM
from lake_assets.sources.kinesis.aggregated import is_sent_again, user_records
from lake_assets.sources.kinesis.position import Position
from lake_assets.sources.landing.table import handle_of, position_in
from lake_assets.storage.store import Store

COLUMNS = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        *origin_schema(KinesisSource.origin),
        pa.field(PROBLEM, pa.string()),
    ]
)
"""What bronze has of a record, or of a row of an aggregated one."""


def position_at(lake: Store, feed: str) -> Position | None:
    """How far a feed's reading is; as `sources.landing.table.position_in`."""
    return position_in(lake, handle_of(lake, feed), feed, Position.of)


@dataclass(kw_only=True)
class Rows:
    """Rows that wait for their commit."""

    stream: str
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    arrived: list[datetime] = field(default_factory=list)
    shards: list[str | None] = field(default_factory=list)
    numbers: list[str | None] = field(default_factory=list)
    places: list[int | None] = field(default_factory=list)
    problems: list[str | None] = field(default_factory=list)
    size: int = 0
    """Bytes of the values."""

    def __len__(self) -> int:
        """How many."""
        return len(self.values)

    def add(
        self,
        shard: str,
        records: Sequence[dict[str, Any]],
        hashes: tuple[int, int] | None = None,
    ) -> None:
        """Add records of a shard as boto3 gives them; `hashes` is which keys it has."""
        for record in records:
            data, key = record["Data"], record["PartitionKey"]
            several = user_records(data)
            if several is not None and is_sent_again(key, several, hashes):
                continue
            parts = [(key, data)] if several is None else [(row.key, row.data) for row in several]
            for place, (part_key, part) in enumerate(parts):
                self._add(
                    key=part_key.encode(),
                    value=part,
                    at=record["ApproximateArrivalTimestamp"],
                    shard=shard,
                    number=record["SequenceNumber"],
                    place=None if several is None else place,
                    problem=None,
                )

    def add_loss(self, problem: str, at_ms: int, shard: str | None) -> None:
        """Add a row without value that says what was lost."""
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
        self._add(
            key=None, value=None, at=at, shard=shard, number=None, place=None, problem=problem
        )

    def _add(  # noqa: PLR0913 - the columns
        self,
        *,
        key: bytes | None,
        value: bytes | None,
        at: datetime,
        shard: str | None,
        number: str | None,
        place: int | None,
        problem: str | None,
    ) -> None:
        self.keys.append(key)
        self.values.append(value)
        self.arrived.append(at)
        self.shards.append(shard)
        self.numbers.append(number)
        self.places.append(place)
        self.problems.append(problem)
        self.size += len(value or b"")

    def as_table(self, first: int) -> pa.Table:
        """Rows as they land, `COLUMNS`, of which the first has this offset."""
        columns = [
            self.keys,
            self.values,
            pa.repeat(pa.scalar(self.stream), len(self)),
            pa.array(range(first, first + len(self)), pa.int64()),
            self.arrived,
            self.shards,
            self.numbers,
            self.places,
            self.problems,
        ]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, COLUMNS, strict=True)]
        return pa.Table.from_arrays(arrays, schema=COLUMNS)
