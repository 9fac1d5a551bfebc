"""Topics as a source of rows: what `sources.base` asks of one, told by Kafka's words."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.errors import StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace, Extent, Place
from lake_assets.model.sources import KafkaSource
from lake_assets.sources.base import ANSWER_S, Fetched, Generation, Parser
from lake_assets.sources.kafka import headers
from lake_assets.sources.kafka.fetch import fetch_rows
from lake_assets.sources.kafka.found_topics import extent_of
from lake_assets.sources.kafka.generation import row_times, topic_generation
from lake_assets.sources.kafka.topics import offset_bounds
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EARLIEST, _LATEST = -2, -1
"""Kafka's own numbers for "the first there is" and "the end", which a feed may write as well."""


class KafkaTopic:
    """A feed's topic, or topics."""

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
        """Read topics of these brokers."""
        self._declared = declared
        self._endpoints = endpoints

    @classmethod
    def of(cls, feed: Feed, endpoints: Endpoints, lake: Store) -> Self:  # noqa: ARG003 - offsets are Kafka's
        """Made from what a feed declares; asks nobody."""
        return cls(feed.source.topics, endpoints)

    def extent(self, *, timeout_s: float = ANSWER_S) -> Extent:
        """The offsets of the topics' partitions; raises as `sources.base.Source.extent`."""
        topic = self._declared.topic
        if topic is None:
            return extent_of(self._endpoints, self._declared, timeout_s=timeout_s)
        bounds = offset_bounds(self._endpoints, topic, timeout_s=timeout_s)
        return Extent(
            begins={(topic, partition): begin for partition, (begin, _) in bounds.items()},
            ends={(topic, partition): end for partition, (_, end) in bounds.items()},
        )

    def has_unseen(self) -> bool:
        """Never: brokers tell of all rows."""
        return False

    def generation(self, names: Collection[str], *, timeout_s: float = ANSWER_S) -> Generation:
        """Half of each topic's id, and its leaders' epochs; as `sources.base.Source.generation`."""
        return topic_generation(self._endpoints, names, timeout_s=timeout_s)

    def times(self, offsets: ByPlace, *, timeout_s: float = ANSWER_S) -> dict[Place, int]:
        """The rows' Kafka timestamps; as `sources.base.Source.times`."""
        return row_times(self._endpoints, offsets, timeout_s=timeout_s)

    def first_offsets(self, extent: Extent) -> dict[Place, int]:
        """As `starting_offsets` says.

        Raises:
            StreamError: a topic has no such offset.
        """
        starts = (self._first_offsets(name, extent.of({name})) for name in extent.names)
        return {place: offset for found in starts for place, offset in found.items()}

    def _first_offsets(self, topic: str, extent: Extent) -> dict[Place, int]:
        declared = self._declared.start_of(topic)
        if declared == "latest":
            return dict(extent.ends)
        if isinstance(declared, str):
            return dict(extent.begins)
        starts = {
            place: _resolved(declared.get(place[1], _EARLIEST), begin, extent.ends[place])
            for place, begin in extent.begins.items()
        }
        for place in sorted({*starts, *((topic, partition) for partition in declared)}):
            begin, end = extent.begins.get(place), extent.ends.get(place)
            if begin is None or end is None or not begin <= starts[place] <= end:
                fact = "is not there" if begin is None else f"has the offsets {begin} to {end}"
                raise StreamError(
                    f"partition {place[1]} of {self._declared.title_of(topic)}",
                    f"{fact}, and the feed begins at {declared[place[1]]}",
                    "Correct source.kafka.starting_offsets of the feed",
                )
        return starts

    def read(
        self, session: "SparkSession", *, starts: ByPlace, max_rows: int, tasks: int
    ) -> "DataFrame":
        """The topics' rows, headers as text; as `sources.base.Source.read`."""
        from lake_assets.sources.kafka.stream import read_topic  # noqa: PLC0415 - imports Spark

        rows = read_topic(
            session,
            self._declared,
            self._endpoints,
            starts=starts,
            max_rows=max_rows,
            tasks=tasks,
        )
        return rows.select(*self.columns.names)

    def fetch(
        self, *, starts: ByPlace, ends: ByPlace, timeout_s: float = ANSWER_S
    ) -> Iterator[Fetched]:
        """As `sources.base.Source.fetch`; damaged record batches are what cannot be read."""
        yield from fetch_rows(
            self._endpoints,
            self.columns,
            starts=starts,
            ends=ends,
            timeout_s=timeout_s,
        )

    def batch_end(self, planned: str) -> dict[Place, int]:
        """Spark's Kafka reader notes offsets by topic, then by partition."""
        return {
            (topic, int(partition)): offset
            for topic, offsets in json.loads(planned).items()
            for partition, offset in offsets.items()
        }


def _resolved(declared: int, begin: int, end: int) -> int:
    return {_EARLIEST: begin, _LATEST: end}.get(declared, declared)
