"""The records of a Kinesis data stream, as a source; `Source` says what each does."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import pyarrow as pa

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.model.origins import ByPlace, Extent
from lake_assets.settings.secrets import secrets_of
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kinesis.landed import COLUMNS, position_at
from lake_assets.sources.landing.source import LandedSource
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EVERY_S = 1.0
"""Seconds between two passes of a query without an end: each asks every shard, which others read
as well."""


class StreamRecords(LandedSource):
    """The records of a feed's stream."""

    columns: ClassVar[pa.Schema] = COLUMNS
    time: ClassVar[str] = "arrived_at"

    def __init__(self, feed: str, source: KinesisSource, lake: Store) -> None:
        """Read a stream, by what of it landed in the lake."""
        super().__init__(feed, source.stream, lake)
        self._source = source

    @classmethod
    def of(cls, feed: Feed, endpoints: Endpoints, lake: Store) -> Self:  # noqa: ARG003 - it names its server
        """Made from what a feed declares; asks nobody."""
        declared = feed.source.kinesis
        if declared is None:
            raise TypeError("a feed of a Kinesis stream declares it")
        return cls(feed.feed, declared, lake)

    def extent(self, *, timeout_s: float = ANSWER_S) -> Extent:
        """The offsets of records that landed; raises as `sources.base.Source.extent`."""
        # boto3 is imported late: other feeds' commands need none of it, and it may be missing.
        from lake_assets.sources.kinesis.unseen import ensure_readable  # noqa: PLC0415

        known = position_at(self._lake, self._feed)
        ensure_readable(self._source, known, within_s=timeout_s)
        return self._landed_extent()

    def has_unseen(self) -> bool:
        """Whether records would land; as `sources.base.Source.has_unseen`."""
        from lake_assets.sources.kinesis.unseen import has_new_records  # noqa: PLC0415 - as above

        return has_new_records(self._source, position_at(self._lake, self._feed))

    def read(
        self, session: "SparkSession", *, starts: ByPlace, max_rows: int, tasks: int
    ) -> "DataFrame":
        """The stream's records; as `sources.base.Source.read`."""
        from lake_assets.sources.kinesis.landing import open_landing  # noqa: PLC0415 - as above
        from lake_assets.sources.landing.stream import (  # noqa: PLC0415 - Spark
            Reading,
            read_landed,
        )

        key = self._source.access_key
        secrets = secrets_of(() if key is None else (key.id, key.secret, key.token))
        reading = Reading(
            feed=self._feed,
            columns=COLUMNS,
            lake=self._lake,
            start=starts.get(self._place, 0),
            max_rows=max_rows,
            tasks=tasks,
            land=partial(open_landing, self._source, self._lake, self._feed, secrets),
            every_s=_EVERY_S,
        )
        return read_landed(session, self._source.kind, reading)
