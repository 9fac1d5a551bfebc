"""Schemas that files bring: kept in the index, once each, in the order in which they came."""

import os

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.model.payload import AvroPayload, Payload
from lake_assets.model.tables import files_of
from lake_assets.sources.files import index_writer
from lake_assets.sources.files import written_schemas as module
from lake_assets.sources.files.avro_container import schema_id
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import SCHEMA, Entry, rows_of_index
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.sources.files.written_schemas import written_schemas
from lake_assets_tests.sources.files.containers import BEAT, beats, block, header
from lake_assets_tests.sources.files.folders import Folder, read, told

LATER = {**BEAT, "fields": [*BEAT["fields"], {"name": "z", "type": "int", "default": 0}]}
DATED = {**BEAT, "fields": [{"name": "bpm", "type": {"type": "int", "logicalType": "date"}}]}


@pytest.fixture
def folder(tmp_path):
    found = Folder(tmp_path)
    found.path.mkdir()
    return found


def put(folder, name, content):
    path = folder.path / name
    path.write_bytes(content)
    os.utime(path, (1_000 + ord(name), 1_000 + ord(name)))


def feed_of(folder):
    return folder.feed(Payload(avro=AvroPayload()), format="avro")


def test_a_schema_is_in_the_index_once_and_in_the_order_of_its_files(folder):
    put(folder, "a", header() + block(beats(1)))
    read(folder.reader(feed_of(folder)))
    put(folder, "b", header(LATER))  # no rows, and yet a schema
    put(folder, "c", header(codec=None) + block(beats(2)))
    put(folder, "d", header(DATED))
    put(folder, "e", header(LATER))
    rows = read(folder.reader(feed_of(folder)))
    ids = [number for number, _ in written_schemas(folder.lake, "beats")]
    assert len(set(ids)) == len(ids) == 3
    assert [schema_id(schema) for _, schema in written_schemas(folder.lake, "beats")] == ids
    named = {int.from_bytes(v[2:10], "little", signed=True) for v in rows["value"].to_pylist()}
    assert named == {ids[0]}
    parts = rows_of_index(folder.lake, "beats", ("file", "schema"))
    found = {n: s for part in parts for n, s in told(part, "file", "schema")}
    assert [name for name in sorted(found) if found[name]] == ["a", "b", "d"]
    assert written_schemas(folder.lake, "other") == []


def test_a_schema_keeps_its_place_behind_one_that_came_without_rows(folder):
    last = {**BEAT, "name": "Zulu", "fields": [{"name": "z", "type": "int"}]}
    put(folder, "a", header(last))
    read(folder.reader(feed_of(folder)))
    (first,) = written_schemas(folder.lake, "beats")
    put(folder, "b", header() + block(beats(1)))
    read(folder.reader(feed_of(folder)))
    later = written_schemas(folder.lake, "beats")
    assert (later[0], len(later)) == (first, 2)


def test_an_index_of_an_earlier_release_has_no_schemas_and_is_added_to(folder, monkeypatch):
    older = pa.schema([field for field in SCHEMA if field.name not in {"etag", "schema"}])
    with monkeypatch.context() as patch:
        patch.setattr(index_writer, "SCHEMA", older)
        index = FileIndex(folder.lake, "beats")
        index.add([Entry(file=Found("0.jsonl", 9, 9), first=0, lines=1)])
        index.close()
    assert written_schemas(folder.lake, "beats") == []
    put(folder, "a", header() + block(beats(1)))
    rows = read(folder.reader(feed_of(folder), start=1))
    assert rows["_problem"].to_pylist() == [None]
    table = DeltaTable(str(folder.root / "lake" / files_of("beats").relative))
    table.optimize.compact()  # keeps the columns that the table has
    ((number, _),) = written_schemas(folder.lake, "beats")
    assert rows["value"][0].as_py()[2:10] == number.to_bytes(8, "little", signed=True)


def test_two_schemas_of_one_fingerprint_are_never_taken_for_each_other(folder, monkeypatch):
    monkeypatch.setattr(module, "schema_id", lambda _: 7)
    put(folder, "a", header() + block(beats(1)))
    read(folder.reader(feed_of(folder)))
    put(folder, "b", header(LATER) + block(beats(2)))
    rows = read(folder.reader(feed_of(folder), start=1))
    ((value, problem),) = told(rows, "value", "_problem")
    assert value is None
    assert "whose fingerprint, 7, is that of another file's" in problem
