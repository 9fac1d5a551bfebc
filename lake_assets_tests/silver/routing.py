"""Feeds of JSON whose rows go to tables by all kinds of routes; a lake to demux them into."""

import base64
import json
from contextlib import contextmanager

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.change_journal import ChangeJournal
from lake_assets.delta.commit import Batch
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.offset_range import Range
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.formats.tombstones import with_tombstones
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import quarantine_of
from lake_assets.model.tombstones import tombstone_columns
from lake_assets.silver.demux import Demux
from lake_assets.silver.reprocess import Bronze, Redo
from lake_assets.silver.selecting import with_select
from lake_assets.sources.kafka.headers import TYPE
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.scan import Rows
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.silver.given import bronze_batch, no_position

COLUMNS = "kind string, level int, at timestamp, payload struct<kind: string, deep: struct<n: int>>"

QUARANTINE = quarantine_of("events")


def feed(route, **more):
    routes = {"routes": route} if isinstance(route, list) else {"route": route}
    return Feed.model_validate(
        {
            "feed": "events",
            "source": {"kafka": {"topic": "t"}},
            "payload": {"json": {"schema": COLUMNS, **more.pop("payload", {})}},
            **routes,
            **more,
        }
    )


def bronze_rows(*values, headers=None, topics=None, as_text=False):
    """Bronze rows of JSON values, with headers in pairs and topics, if they are given.

    Headers are lists, as in bronze's files, or `as_text`, as from Kafka.
    """
    texts = [v if isinstance(v, bytes | None) else json.dumps(v).encode() for v in values]
    rows = pa.Table.from_batches([bronze_batch(*texts)])
    lists = [
        None if one is None else [{"key": key, "value": value} for key, value in one]
        for one in headers or [None] * len(values)
    ]
    written = [None if one is None else _in_json(one) for one in lists]
    found = pa.array(written, pa.string()) if as_text else pa.array(lists, TYPE)
    rows = rows.append_column("headers", found)
    if topics is not None:
        rows = rows.set_column(rows.schema.get_field_index("topic"), "topic", pa.array(topics))
    return rows.combine_chunks().to_batches()[0] if rows.num_rows else rows


def _in_json(headers):
    """As Spark writes them."""
    written = [
        {
            name: base64.b64encode(one).decode() if isinstance(one, bytes) else one
            for name, one in header.items()
            if one is not None
        }
        for header in headers
    ]
    return json.dumps(written, separators=(",", ":"))


class Lake:
    """What was produced so far, and the tables."""

    def __init__(self, spark, context, settings):
        self.spark, self.context, self.settings = spark, context, settings
        self.reports, self.batches = [], 0

    def demux(self, declared):
        surroundings = Surroundings(registry_access=RegistryAccess())
        inner = format_of(declared, surroundings)
        inner = with_tombstones(declared.feed, tombstone_columns(declared.gold), inner)
        found = with_select(self.spark, declared, inner, b"")
        return Demux(
            feed=declared,
            context=self.context,
            journal=Journal(self.settings.state_dir / "events-demux.json"),
            format=found,
            schemas=found,
            report=self.reports.append,
        )

    def take(self, declared, batch, demux=None):
        """Demux rows as a batch of their own; what demuxed them."""
        demux = demux or self.demux(declared)
        frame = self.spark.createDataFrame(pa.Table.from_batches([batch]))
        demux(Rows(frame), Batch("query", self.batches), no_position)
        self.batches += 1
        return demux

    def redo(self, declared):
        return Redo(
            session=self.spark,
            demux=self.demux(declared),
            journal=ChangeJournal(
                LocalStore.at(self.settings.state_dir),
                LakeUri.local(self.settings.state_dir / "events-redo.json"),
                KAFKA,
            ),
        )

    def bronze(self, batch):
        """The rows as a rebuild is given them."""
        frame = self.spark.createDataFrame(pa.Table.from_batches([batch]))
        return Bronze(rows=frame, range=Range(ends={("t", 0): batch.num_rows}))

    def read(self, table):
        path = self.settings.lake_dir / table.relative
        rows = DeltaTable(path).to_pyarrow_table()
        return rows.sort_by("_offset" if "_offset" in rows.schema.names else "offset").to_pylist()

    def offsets(self, declared, *keys):
        """By key, the offsets of its table's rows."""
        found = {key: self.read(declared.silver_table(key)) for key in keys or declared.keys}
        return {key: [row["_offset"] for row in rows] for key, rows in found.items()}

    def refused(self):
        return [(row["offset"], row["reason"], row["detail"]) for row in self.read(QUARANTINE)]


@contextmanager
def open_events(spark, settings):
    with open_lake(settings) as context:
        yield Lake(spark, context, settings)
