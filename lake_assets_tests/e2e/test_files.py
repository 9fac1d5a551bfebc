"""The whole way of a feed whose rows are in files: no broker, no registry."""

import gzip
import json
import os
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.bronze.ingest import Ingest
from lake_assets.errors import SourceNotFoundError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import bronze_of, files_of, quarantine_of
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.run_need import is_run_needed
from lake_assets_tests.known_topic import NOWHERE
from lake_assets_tests.streamed_lake import StreamedLake

pytestmark = pytest.mark.spark


class KilledError(Exception):
    """What a test raises in place of a kill."""


@dataclass(kw_only=True)
class FilesLake(StreamedLake):
    """A feed's lake, streamed now and then, and its folder."""

    folder: Path

    def put(self, name: str, *rows: object) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return path

    def declare(self, payload: Payload | None = None, **changes: object) -> None:
        declared = {**self.feed.source.files.model_dump(), **changes}
        source = Source(files=FilesSource.model_validate(declared))
        update = {"source": source, "payload": payload or self.feed.payload}
        self.feed = self.feed.model_copy(update=update)

    def sorted(self, table, *columns):
        return sorted(self.rows(table, *columns))

    @property
    def silver(self):
        return self.sorted(self.feed.silver_table("beats"), "bpm", "_file", "_row")

    @property
    def bad(self):
        return self.sorted(quarantine_of("beats"), "_file", "_row", "reason", "detail")


@pytest.fixture
def lake(spark, settings, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    feed = Feed(
        feed="beats",
        source=Source(files=FilesSource(path=str(folder), format="jsonl", settle=timedelta(0))),
        payload=Payload(json_=JsonPayload(ddl="bpm int")),
    )
    return FilesLake(spark=spark, settings=settings, folder=folder, feed=feed)


def test_lines_come_to_bronze_silver_and_quarantine_with_file_and_line(lake):
    lake.put("a.jsonl", {"bpm": 60}, b"", {"bpm": 61}, b"no json")
    os.utime(lake.folder / "a.jsonl", (1_700_000_000, 1_700_000_000))
    (lake.folder / "empty.jsonl").touch()
    (lake.folder / "b.jsonl.gz").write_bytes(gzip.compress(b'{"bpm": 70}\r\n{"bpm": 71}'))
    (lake.folder / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"bpm": 1}\n' * 9999)[:-20])
    (lake.folder / "_hidden.jsonl").write_bytes(b'{"bpm": 1}\n')
    assert lake.stream() is None
    assert lake.silver == [
        (60, "a.jsonl", 1),
        (61, "a.jsonl", 3),
        (70, "b.jsonl.gz", 1),
        (71, "b.jsonl.gz", 2),
    ]
    assert [row[:3] for row in lake.bad] == [
        ("a.jsonl", 4, "undecodable"),
        ("cut.jsonl.gz", 1, "bad_file"),
    ]
    assert "cut.jsonl.gz: cannot be decompressed" in lake.bad[1][3]
    columns = ("_file", "_row", "_position", "value", "ordinal")
    first = [row for row in lake.sorted(bronze_of("beats"), *columns) if row[0] == "a.jsonl"]
    assert [row[1:] for row in first] == [
        (1, 0, b'{"bpm": 60}', 0),
        (3, 13, b'{"bpm": 61}', 2),
        (4, 25, b"no json", 3),
    ]
    silver, bad = lake.silver, lake.bad
    lake.redo(lambda redo: redo.requeue())
    assert (lake.silver, lake.bad) == (silver, bad)
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert (lake.silver, lake.bad) == (silver, bad)
    times = lake.sorted(bronze_of("beats"), "_file", "modified_at")
    assert {time.timestamp() for file, time in times if file == "a.jsonl"} == {1_700_000_000}


def test_each_file_is_read_once_whenever_the_streams_begin(lake):
    lake.put("a.jsonl", {"bpm": 1}, {"bpm": 2})
    assert lake.stream() is None
    lake.put("b.jsonl", {"bpm": 3})
    assert lake.stream() is None
    assert lake.stream() is None
    assert [row[0] for row in lake.silver] == [1, 2, 3]
    assert Counter(n for (n,) in lake.sorted(bronze_of("beats"), "ordinal")) == Counter(range(3))


@pytest.mark.long
def test_what_died_after_the_index_is_read_once(lake, monkeypatch):
    """A kill between the index's commit and bronze's, and one between two batches."""
    two = lake.settings.stream.model_copy(update={"max_rows_per_batch": 2})
    lake.settings = lake.settings.model_copy(update={"stream": two})
    for name in ("a", "b", "c"):
        lake.put(f"{name}.jsonl", {"bpm": 1}, {"bpm": 2})

    def die(*_, **__):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("lake_assets.bronze.ingest.Ingest.commit", die)
        assert lake.stream() is not None
    assert DeltaTable(lake.settings.lake_dir / files_of("beats").relative).to_pyarrow_table()
    assert lake.sorted(bronze_of("beats"), "ordinal") == []
    commit = Ingest.commit

    def die_later(ingest, landed, until, *, job_s):
        if until["files", 0] > 2:
            raise KilledError
        return commit(ingest, landed, until, job_s=job_s)

    with monkeypatch.context() as patch:
        patch.setattr("lake_assets.bronze.ingest.Ingest.commit", die_later)
        assert lake.stream() is not None
    assert len(lake.sorted(bronze_of("beats"), "ordinal")) == 2
    assert lake.stream() is None
    assert lake.sorted(bronze_of("beats"), "ordinal") == [(number,) for number in range(6)]
    assert Counter((file, row) for _, file, row in lake.silver) == Counter(
        (f"{name}.jsonl", row) for name in "abc" for row in (1, 2)
    )


@pytest.mark.long
def test_bronze_that_was_put_back_reads_from_the_archive(lake):
    lake.declare(archive=str(lake.folder.parent / "done"))
    lake.put("a.jsonl", {"bpm": 1})
    assert lake.stream() is None
    before = DeltaTable(lake.settings.lake_dir / bronze_of("beats").relative).version()
    lake.put("b.jsonl", {"bpm": 2})
    assert lake.stream() is None
    assert lake.stream() is None
    assert not list(lake.folder.iterdir())
    DeltaTable(lake.settings.lake_dir / bronze_of("beats").relative).restore(before)
    assert lake.stream() is None
    assert lake.sorted(bronze_of("beats"), "_file", "value") == [
        ("a.jsonl", b'{"bpm": 1}'),
        ("b.jsonl", b'{"bpm": 2}'),
    ]
    assert [row[0] for row in lake.silver] == [1, 2]


def test_an_index_of_before_bronze_is_refused(lake):
    lake.put("a.jsonl", {"bpm": 1})
    assert lake.stream() is None
    shutil.rmtree(lake.settings.lake_dir / files_of("beats").relative)
    told = "ends at offset 0, and bronze has its rows up to offset 1"
    assert told in str(lake.stream())


def test_a_folder_that_is_not_there_is_what_is_told(lake):
    lake.folder.rmdir()
    failure = lake.stream()
    assert isinstance(failure, SourceNotFoundError)
    assert f"folder {lake.folder}: does not exist" in str(failure)


@pytest.mark.long
def test_rows_of_parquet_have_the_columns_that_are_inferred_and_the_types_of_hints(lake):
    hints = "price decimal(10,2), at timestamp"
    payload = Payload.model_validate({"json": {"infer": True, "hints": hints}})
    lake.declare(payload, format="parquet")
    at = datetime(2026, 11, 26, 8, tzinfo=UTC)
    rows = [{"price": Decimal("9.90"), "at": at, "bpm": n} for n in range(4)]
    pq.write_table(pa.Table.from_pylist(rows), lake.folder / "a.parquet", row_group_size=3)
    (lake.folder / "cut.parquet").write_bytes((lake.folder / "a.parquet").read_bytes()[:-4])
    assert lake.stream() is None
    columns = ("_file", "_row", "bpm", "price", "at")
    silver = lake.sorted(lake.feed.silver_table("beats"), *columns)
    assert silver == [("a.parquet", n + 1, n, Decimal("9.90"), at) for n in range(4)]
    ((file, row, reason, detail),) = lake.bad
    assert (file, row, reason) == ("cut.parquet", 1, "bad_file")
    assert "has no footer of Parquet" in detail
    pq.write_table(pa.table({"bpm": [9], "model": ["vita"]}), lake.folder / "b.parquet")
    assert lake.stream() is None
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert lake.sorted(lake.feed.silver_table("beats"), "_file", "bpm", "model") == [
        *(("a.parquet", n, None) for n in range(4)),
        ("b.parquet", 9, "vita"),
    ]


@pytest.mark.long
def test_plain_messages_are_decoded_by_the_schema_that_there_was_when_their_file_was_found(lake):
    schema = lake.folder.parent / "beat.proto"
    text = 'syntax = "proto3"; message Other {} message Beat { int32 bpm = 1; string model = 2; }'
    schema.write_text(text)
    payload = {"protobuf": {"file": str(schema), "message": "Beat"}}
    lake.declare(Payload.model_validate(payload), format="protobuf")
    assert lake.stream() is None
    (lake.folder / "a").write_bytes(b"\x05\x08\x3c\x12\x01v" + b"\x01\xff")
    assert lake.stream() is None
    (lake.folder / "b").write_bytes(b"\x05\x08\x3d\x1a\x01w\x7fcut off")
    schema.write_text(text.replace("string model = 2;", "reserved 2; string maker = 3;"))
    assert lake.stream() is None
    (lake.folder / "a").unlink()
    (lake.folder / "b").unlink()
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    columns = ("_file", "bpm", "model", "maker")
    assert lake.sorted(lake.feed.silver_table("beats"), *columns) == [
        ("a", 60, "v", None),
        ("b", 61, None, "w"),
    ]
    assert [row[:3] for row in lake.bad] == [("a", 2, "undecodable"), ("b", 2, "bad_file")]
    assert "is cut off in the message at byte 6" in lake.bad[1][3]


PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text()


def block(language):
    found, *_ = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


def test_the_page_s_feed_does_what_the_page_says(lake):
    feeds = lake.folder.parent / "feeds"
    feeds.mkdir()
    own = block("yaml").replace("/data/beats-done", str(lake.folder.parent / "done"))
    (feeds / "beats.yaml").write_text(own.replace("/data/beats", str(lake.folder)))
    (lake.feed,) = load_feeds(feeds)
    monday = lake.folder / "monday.jsonl"
    monday.write_text(block("json"))
    os.utime(monday, (0, 0))
    assert lake.stream() is None
    silver = lake.sorted(lake.feed.silver_table("beats"), "_row", "bpm")
    assert silver == [(1, 61), (2, None)]
    ((file, row, reason, _),) = lake.bad
    assert (file, row, reason) == ("monday.jsonl", 3, "undecodable")
    assert is_run_needed(lake.settings, lake.feed, NOWHERE) is False
    lake.put("tuesday.jsonl", {"bpm": 70})
    assert is_run_needed(lake.settings, lake.feed, NOWHERE) is True
