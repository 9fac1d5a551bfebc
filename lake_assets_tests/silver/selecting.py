"""A feed's `select` demuxed, for tests of what comes of it."""

import json

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.change_journal import ChangeJournal
from lake_assets.delta.commit import Batch
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.offset_range import Range
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.model.lake_uri import LakeUri
from lake_assets.silver.demux import Demux
from lake_assets.silver.reprocess import Bronze, Redo
from lake_assets.silver.select_by_spark import selects_by_spark
from lake_assets.silver.selecting import with_select
from lake_assets.spark.scan import Rows
from lake_assets.storage.local import LocalStore
from lake_assets_tests.silver.given import bronze_batch, no_position

FIRST = Batch("query", 0)

KEY = b"a key of sixteen or more"

COLUMNS = "time timestamp, model string, heart_bpm int, owner struct<mail: string, level: bigint>"


def feed(select=(), *, schema=COLUMNS, **more):
    return Feed.model_validate(
        {
            "feed": "tracker",
            "source": {"kafka": {"topic": "tracker"}},
            "payload": {"json": {"schema": schema, **more.pop("payload", {})}},
            "route": {"column": "model", "keys": ["pulse", "vita"]},
            "select": select,
            **more,
        }
    )


def beat(**changes):
    """A value of `COLUMNS`."""
    whole = {
        "time": "2026-11-25T10:00:00Z",
        "model": "pulse",
        "heart_bpm": 90,
        "owner": {"mail": "ann@example.com", "level": 7},
    }
    return {**whole, **changes}


def without_origin(row):
    """A row without silver's own columns."""
    return {name: value for name, value in row.items() if not name.startswith("_")}


class Silver:
    """Demuxes values and reads what came of them."""

    def __init__(self, spark, context, settings):
        self.spark, self.context, self.settings = spark, context, settings
        self.reports, self.by_spark = [], None
        self.offsets = 0

    def decoding(self, declared):
        """The format below what is selected."""
        return format_of(declared, Surroundings(registry_access=RegistryAccess()))

    def demux(self, declared, key=KEY, **more):
        found = with_select(self.spark, declared, self.decoding(declared), key, **more)
        return Demux(
            feed=declared,
            context=self.context,
            journal=Journal(self.settings.state_dir / "tracker-demux.json"),
            format=found,
            schemas=found,
            report=self.reports.append,
        )

    def take(self, declared, *values, batch=FIRST, demux=None):
        demux = demux or self.demux(declared)
        texts = [v if isinstance(v, bytes | None) else json.dumps(v).encode() for v in values]
        frame = self.spark.createDataFrame(pa.Table.from_batches([bronze_batch(*texts)]))
        demux(Rows(frame), batch, no_position)
        self.by_spark = selects_by_spark(demux.next_job(self.spark).plan)
        return demux

    def rows(self, declared, key="pulse"):
        table = declared.silver_table(key)
        return self.read(table)

    def read(self, table):
        rows = DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table()
        names = [name for name in rows.schema.names if not name.startswith("_kafka")]
        return rows.select(names).sort_by("_offset" if "_offset" in names else "offset").to_pylist()

    def read_all(self, table):
        """All rows with all their columns, in any order."""
        return DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()

    def schema(self, table):
        return DeltaTable(self.settings.lake_dir / table.relative).to_pyarrow_table().schema

    def redo(self, declared, key=KEY, **more):
        """What requeues and rebuilds."""
        state = self.settings.state_dir
        file = LakeUri.local(state / "tracker-redo.json")
        journal = ChangeJournal(LocalStore.at(state), file, declared.source.origin)
        return Redo(session=self.spark, demux=self.demux(declared, key, **more), journal=journal)

    def bronze(self, *values):
        """Values as a rebuild gets them; all were demuxed."""
        batch = bronze_batch(*(json.dumps(value).encode() for value in values))
        rows = self.spark.createDataFrame(pa.Table.from_batches([batch]))
        return Bronze(rows=rows, range=Range(ends={("t", 0): len(values)}))
