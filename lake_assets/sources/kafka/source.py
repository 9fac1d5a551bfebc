"""A topic as a source of rows: what `sources.base` asks of one, told by Kafka's words."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.errors import StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import ByPartition, Extent
from lake_assets.model.sources import KafkaSource
from lake_assets.sources.base import ANSWER_S, Fetched, Generation, Parser
from lake_assets.sources.kafka import headers
from lake_assets.sources.kafka.fetch import fetch_rows
from lake_assets.sources.kafka.generation import row_times, topic_generation
from lake_assets.sources.kafka.topics import offset_bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EARLIEST, _LATEST = -2, -1
"""Kafka's own numbers for "the first there is" and "the end", which a feed may write as well."""


class KafkaTopic:
    """A feed's topic."""

    columns: ClassVar[pa.Schema] = pa.schema(
        [
            pa.field("key", pa.binary()),
            pa.field("value", pa.binary()),
            pa.field("headers", headers.TYPE),
            *origin_schema(KafkaSource.origin),
        ]
    )
    parsers: ClassVar[Mapping[str, Parser]] = {"headers": headers.from_text}

    def __init__(self, declared: KafkaSource, endpoints: Endpoints) -> None:
        """Read a topic of these brokers."""
        self._declared = declared
        self._endpoints = endpoints

    @classmethod
    def of(cls, declared: KafkaSource, endpoints: Endpoints) -> Self:
        """Made from what a feed declares; asks nobody."""
        return cls(declared, endpoints)

    def extent(self, *, timeout_s: float = ANSWER_S) -> Extent:
        """The offsets of the topic's partitions; raises as `sources.base.Source.extent`."""
        bounds = offset_bounds(self._endpoints, self._declared.topic, timeout_s=timeout_s)
        return Extent(
            begins={partition: begin for partition, (begin, _) in bounds.items()},
            ends={partition: end for partition, (_, end) in bounds.items()},
        )

    def generation(self, *, timeout_s: float = ANSWER_S) -> Generation:
        """Half of the topic's id, and its leaders' epochs; raises as `extent`."""
        return topic_generation(self._endpoints, self._declared.topic, timeout_s=timeout_s)

    def times(self, offsets: ByPartition, *, timeout_s: float = ANSWER_S) -> dict[int, int]:
        """The rows' Kafka timestamps; as `sources.base.Source.times`."""
        topic = self._declared.topic
        return row_times(self._endpoints, topic, offsets, timeout_s=timeout_s)

    def first_offsets(self, extent: Extent) -> dict[int, int]:
        """As `starting_offsets` says.

        Raises:
            StreamError: the topic has no such offset.
        """
        declared = self._declared.starting_offsets
        if declared == "latest":
            return dict(extent.ends)
        if isinstance(declared, str):
            return dict(extent.begins)
        starts = {
            partition: _resolved(declared.get(partition, _EARLIEST), begin, extent.ends[partition])
            for partition, begin in extent.begins.items()
        }
        for partition in sorted({*starts, *declared}):
            begin, end = extent.begins.get(partition), extent.ends.get(partition)
            if begin is None or end is None or not begin <= starts[partition] <= end:
                fact = "is not there" if begin is None else f"has the offsets {begin} to {end}"
                raise StreamError(
                    f"partition {partition} of {self._declared.title}",
                    f"{fact}, and the feed begins at {declared[partition]}",
                    "Correct source.kafka.starting_offsets of the feed",
                )
        return starts

    def read(
        self, session: "SparkSession", *, starts: ByPartition, max_rows: int, tasks: int
    ) -> "DataFrame":
        """The topic's rows, headers as text; as `sources.base.Source.read`."""
        from lake_assets.sources.kafka.stream import read_topic  # noqa: PLC0415 - imports Spark

        rows = read_topic(
            session,
            self._declared.topic,
            self._endpoints,
            starts=starts,
            max_rows=max_rows,
            tasks=tasks,
        )
        return rows.select(*self.columns.names)

    def fetch(
        self, *, starts: ByPartition, ends: ByPartition, timeout_s: float = ANSWER_S
    ) -> Iterator[Fetched]:
        """As `sources.base.Source.fetch`; damaged record batches are what cannot be read."""
        yield from fetch_rows(
            self._endpoints,
            self._declared.topic,
            self.columns,
            starts=starts,
            ends=ends,
            timeout_s=timeout_s,
        )

    def batch_end(self, planned: str) -> dict[int, int]:
        """Spark's Kafka reader notes offsets by topic, then by partition."""
        offsets = json.loads(planned)[self._declared.topic]
        return {int(partition): offset for partition, offset in offsets.items()}


def _resolved(declared: int, begin: int, end: int) -> int:
    return {_EARLIEST: begin, _LATEST: end}.get(declared, declared)
