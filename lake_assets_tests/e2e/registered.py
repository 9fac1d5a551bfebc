"""A lake of one feed whose schemas are registered, streamed as a process that goes on does."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Route
from lake_assets.model.tables import TableRef
from lake_assets.settings.schema import Settings
from lake_assets.silver.reprocess import Redo
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import streams_lock
from lake_assets.streams.demux_loop import Follower
from lake_assets.streams.noted_changes import reprocess_journal
from lake_assets.streams.pipeline import Pipeline, demux_of, follower_of, start_ingest
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.schemas import Schemas, format_with
from lake_assets_tests.events import Topic


@dataclass
class RegisteredLake:
    """Games of a topic, by a format and a language of the registry: `avro` and `AVRO`."""

    spark: SparkSession
    settings: Settings
    services: Any
    format: str
    language: str
    topic: Topic = field(init=False)
    pipeline: Pipeline = field(init=False)
    follower: Follower = field(init=False)

    def __post_init__(self) -> None:
        self.topic = Topic(self.services)

    def feed(self, *more_keys: str) -> Feed:
        return self.topic.feed(
            payload=Payload.model_validate({self.format: {"subject": self.topic.subject}}),
            route=Route(column="game", keys=("uno", "go_fish", *more_keys)),
            expectations=(),
            gold=(),
        )

    def register(
        self, schema: dict[str, Any], subject: str = "", references: Sequence[Any] = ()
    ) -> int:
        """The id of a schema that no other test registers."""
        mark = "doc" if self.language == "AVRO" else "description"
        text = json.dumps({**schema, mark: self.topic.subject})
        with registry_client(self.topic.endpoints.registry, RegistryAccess()) as client:
            made = Schema(text, self.language, list(references))
            return int(client.register_schema(subject or self.topic.subject, made))

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """While streams run; some version is registered."""
        with streams_lock(self.settings.state_dir), open_lake(self.settings) as context:
            self.pipeline = Pipeline(
                session=self.spark,
                endpoints=self.services,
                context=context,
                stream=self.settings.stream,
                state_dir=self.settings.state_dir,
                report=lambda _: None,
            )
            demux = demux_of(self.pipeline, self.feed(), self._schemas(self.feed()))
            demux.prepare(self.spark)
            self.follower = follower_of(self.pipeline, demux)
            yield

    def stream(self, *values: bytes | None) -> None:
        """Events come, and are taken."""
        self.topic.produce(*values)
        start_ingest(self.pipeline, self.feed(), until_caught_up=True).awaitTermination()
        self.follower.drain()

    def requeue(self, *more_keys: str) -> dict[str, int]:
        """As `lake-assets requeue` once more keys are declared; how many rows went where."""
        return dict(self._redo(self.feed(*more_keys)).requeue().rows)

    def rebuild(self, *more_keys: str) -> None:
        """As `lake-assets rebuild silver` once more keys are declared."""
        rebuild(self._redo(self.feed(*more_keys)), self.settings.state_dir)

    def rows(self, table: TableRef, *names: str) -> list[tuple[Any, ...]]:
        """Some columns of a table, in the order of their texts."""
        folder = self.settings.lake_dir / table.relative
        found = DeltaTable(folder).to_pyarrow_table().to_pylist()
        return sorted((tuple(row.get(name) for name in names) for row in found), key=str)

    def _redo(self, feed: Feed) -> Redo:
        """In a process of its own, which asks the registry again."""
        demux = demux_of(self.pipeline, feed, self._schemas(feed))
        journal = reprocess_journal(self.pipeline.context.lake, feed)
        return Redo(session=self.spark, demux=demux, journal=journal)

    def _schemas(self, feed: Feed) -> Schemas:
        return Schemas(
            feed=feed,
            format=format_with(self.settings, self.services, feed, self.spark),
            stop=threading.Event(),
            announce=lambda waiting: pytest.fail(str(waiting)) if waiting else None,
        )
