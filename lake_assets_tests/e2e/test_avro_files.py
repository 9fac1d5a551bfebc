"""The whole way of a feed whose rows are in Avro's container files: no broker, no registry."""

import shutil
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import fastavro
import pytest

from lake_assets.logs.schema_log import entries_of
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import AvroPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.reprocess import rebuild
from lake_assets_tests.streamed_lake import StreamedLake

pytestmark = pytest.mark.spark


def beat(*fields):
    named = [{"name": name, "type": kind, **more} for name, kind, more in fields]
    return {"type": "record", "name": "Beat", "namespace": "acme", "fields": named}


OLD = beat(("model", "string", {}), ("bpm", "int", {}), ("at", "long", {}))
TIMED = beat(
    ("model", "string", {}),
    ("bpm", "int", {}),
    ("at", {"type": "long", "logicalType": "timestamp-micros"}, {}),
)
"""As OLD to the specification's fingerprint, and another to whoever reads it."""
NEW = beat(
    ("model", "string", {}),
    ("pulse", "long", {"aliases": ["bpm"]}),
    ("place", ["null", "string"], {"default": None}),
)


@dataclass(kw_only=True)
class AvroLake(StreamedLake):
    folder: Path

    def put(self, name, schema, *rows, codec="null", sync_interval=100):
        with (self.folder / name).open("wb") as out:
            fastavro.writer(out, schema, rows, codec=codec, sync_interval=sync_interval)
        return self.folder / name

    def sorted(self, table, *columns):
        return sorted(self.rows(table, *columns), key=str)


@pytest.fixture
def lake(spark, settings, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    source = FilesSource(path=str(folder), format="avro", settle=timedelta(0))
    feed = Feed(feed="beats", source=Source(files=source), payload=Payload(avro=AvroPayload()))
    return AvroLake(spark=spark, settings=settings, folder=folder, feed=feed)


def test_files_with_their_own_schemas_are_one_feed_s_rows_and_outlive_the_files(lake):
    assert lake.stream() is None  # nothing is there, not even a schema
    lake.put("1.avro", OLD, *({"model": f"m{n}", "bpm": n, "at": n} for n in range(40)))
    assert lake.stream() is None
    lake.put("2.avro", NEW, {"model": "n", "pulse": 2**40, "place": "x"}, codec="bzip2")
    whole = lake.put("3.avro", OLD, *({"model": "cut", "bpm": n, "at": n} for n in range(40)))
    whole.write_bytes(whole.read_bytes()[:-30])
    (lake.folder / "4.avro").write_bytes(b"Obj\1no container")
    assert lake.stream() is None
    silver = lake.feed.silver_table("beats")
    rows = lake.sorted(silver, "model", "pulse", "place", "at", "_file", "_row")
    assert ("m7", 7, None, 7, "1.avro", 8) in rows
    assert ("n", 2**40, "x", None, "2.avro", 1) in rows
    bad = lake.sorted(quarantine_of("beats"), "_file", "_row", "reason", "detail")
    assert [row[::2] for row in bad] == [("3.avro", "bad_file"), ("4.avro", "bad_file")]
    assert "is cut off in the block at byte" in bad[0][3]
    whole_rows = [row for row in rows if row[4] == "3.avro"]
    assert len(whole_rows) == bad[0][1] - 1 > 30
    assert len(rows) == 40 + 1 + len(whole_rows)
    _ensure_bronze_tells_where(lake)
    shutil.rmtree(lake.folder)
    lake.folder.mkdir()
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert lake.sorted(silver, "model", "pulse", "place", "at", "_file", "_row") == rows
    entries = entries_of(lake_of(lake.settings), "beats")
    assert {one.reason.version for one in entries if one.schema} == {1, 2}


def _ensure_bronze_tells_where(lake):
    plain = (lake.folder / "1.avro").read_bytes()
    where = lake.rows(bronze_of("beats"), "_file", "_position", "value", "schema_id")
    for name, position, value, schema_id in where:
        if name == "1.avro":
            assert plain[position:].startswith(value[10:])
            assert int.from_bytes(value[2:10], "little", signed=True) == schema_id
    assert {row[1] for row in where if row[0] == "2.avro"} == {None}


def test_a_logical_type_that_came_later_is_another_schema(lake):
    lake.put("1.avro", OLD, {"model": "a", "bpm": 1, "at": 5})
    assert lake.stream() is None
    lake.put("2.avro", TIMED, {"model": "b", "bpm": 2, "at": 6})
    assert lake.stream() is None
    rows = lake.sorted(lake.feed.silver_table("beats"), "model", "at", "_schema_id")
    # The column of a field that was a plain number stays one, as with a registry's versions.
    assert [row[:2] for row in rows] == [("a", 5), ("b", 6)]
    assert rows[0][2] != rows[1][2]
