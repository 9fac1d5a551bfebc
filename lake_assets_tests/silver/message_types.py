"""A topic of two message types at a real registry, and a lake whose tables have own columns."""

from contextlib import contextmanager

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.change_journal import ChangeJournal
from lake_assets.delta.commit import Batch
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.offset_range import Range
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.routes import Route, TableColumns
from lake_assets.model.tables import quarantine_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.reprocess import Bronze, Redo
from lake_assets.silver.selecting import with_select
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.scan import Rows
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.silver.given import bronze_batch, no_position

FIRST = "message Uno { string player = 1; int32 color = 2; } message Chess { string player = 1; }"

SECOND = (
    "message Uno { string player = 1; int32 color = 2; } "
    "message Chess { string player = 1; string opening = 2; int64 elo = 3; }"
)

BY_MESSAGE = Route(message=True, keys=("uno", "chess"), aliases={"Uno": "uno", "Chess": "chess"})


class Games:
    """A topic of two message types, and a lake for it."""

    def __init__(self, spark, context, settings, services):
        self.spark, self.context, self.settings = spark, context, settings
        self.topic = Topic(services)
        self.first = self.topic.register_text(FIRST)
        self.values, self.batches = [], 0

    def feed(self, **changes):
        own = {"route": BY_MESSAGE, "columns": TableColumns.OWN, "expectations": (), "gold": ()}
        return self.topic.feed(**{**own, **changes})

    def demux(self, **changes):
        return self.demux_of(self.feed(**changes))

    def demux_of(self, declared):
        registry = self.topic.endpoints.registry
        around = Surroundings(registry=registry, registry_access=RegistryAccess())
        found = with_select(self.spark, declared, format_of(declared, around), b"")
        return Demux(
            feed=declared,
            context=self.context,
            journal=Journal(self.settings.state_dir / "games-demux.json"),
            format=found,
            schemas=found,
            report=lambda _: None,
        )

    def take(self, *values, demux=None, **changes):
        demux = demux or self.demux(**changes)
        start = len(self.values)
        self.values += values
        rows = bronze_batch(*self.values).slice(start)
        frame = self.spark.createDataFrame(pa.Table.from_batches([rows]))
        demux(Rows(frame), Batch("query", self.batches), no_position)
        self.batches += 1
        return demux

    def redo(self, **changes):
        place = LakeUri.local(self.settings.state_dir / "games-redo.json")
        journal = ChangeJournal(LocalStore.at(self.settings.state_dir), place, KAFKA)
        return Redo(session=self.spark, demux=self.demux(**changes), journal=journal)

    def bronze(self):
        rows = pa.Table.from_batches([bronze_batch(*self.values)])
        ends = {("t", 0): len(self.values)}
        return Bronze(rows=self.spark.createDataFrame(rows), range=Range(ends=ends))

    def path(self, key):
        return self.settings.lake_dir / self.feed().silver_table(key).relative

    def read(self, key):
        table = DeltaTable(self.path(key)).to_pyarrow_table()
        rows = table.sort_by("_offset").to_pylist()
        return [{n: v for n, v in row.items() if not n.startswith("_")} for row in rows]

    def kind(self, key, column):
        return DeltaTable(self.path(key)).to_pyarrow_table().schema.field(column).type

    def columns(self, key):
        names = [field.name for field in DeltaTable(self.path(key)).schema().fields]
        return [name for name in names if not name.startswith("_")]

    def refused(self):
        path = self.settings.lake_dir / quarantine_of("games").relative
        rows = DeltaTable(path).to_pyarrow_table().sort_by("offset").to_pylist()
        return [(row["offset"], row["reason"]) for row in rows]


@contextmanager
def open_games(spark, settings, services):
    """A topic and a lake of their own."""
    with open_lake(settings) as context:
        yield Games(spark, context, settings, services)


def uno(schema_id, body=FIRST, **values):
    return framed(schema_id, message_of(body, "Uno", **values))


def chess(schema_id, body=FIRST, **values):
    return framed(schema_id, message_of(body, "Chess", **values), b"\2\2")
