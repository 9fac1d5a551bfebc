"""What each place of files promises (`sources.files.place`), as tests that any of them can run.

A test module of a place has a fixture `folder`, a `folders.Folder` or what is asked as one, and a
class of its own of `PlaceContract`.
"""

import bz2
import gzip
import io
import json
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake_assets.model.csv_payload import CsvPayload
from lake_assets.model.payload import AvroPayload, Payload
from lake_assets.sources.files import cutting, measuring, stream
from lake_assets.sources.files.discovery import has_new_files
from lake_assets.sources.files.index import changes_in, entries_from
from lake_assets_tests.sources.files.containers import beats, block, header
from lake_assets_tests.sources.files.folders import batches, read, told
from lake_assets_tests.sources.files.recorded import record

CSV = Payload(csv=CsvPayload(ddl="time string, bpm int"))


def parquet(rows, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table({"bpm": list(range(rows))}), sink, **options)
    return sink.getvalue()


class PlaceContract:
    """Tests that want a fixture `folder`."""

    def test_new_files_are_read_once(self, folder):
        folder.put("a", {"bpm": 1}, b"", {"bpm": 2})
        folder.put_bytes("empty", b"")
        rows = read(folder.reader())
        assert told(rows, "ordinal", "_file", "_row", "_position", "value") == [
            (0, "a", 1, 0, b'{"bpm": 1}'),
            (2, "a", 3, 12, b'{"bpm": 2}'),
        ]
        assert not has_new_files(folder.feed(), folder.lake)
        folder.put("b", {"bpm": 3})
        assert has_new_files(folder.feed(), folder.lake)
        assert told(read(folder.reader(start=3)), "ordinal", "_file") == [(3, "b")]
        assert changes_in(folder.lake, "beats") == []

    def test_names_below_are_read_as_the_pattern_says(self, folder):
        names = ["a.jsonl", "b/c.jsonl", "b/d/e.jsonl", "b.csv", "_x/f.jsonl", "b/.g.jsonl"]
        for name in [*names, "é x%20+&=#?.jsonl", "z.tmp"]:
            folder.put(name, {"bpm": 1})
        rows = read(folder.reader(folder.feed(pattern="*.jsonl")))
        assert sorted(rows["_file"].to_pylist()) == ["a.jsonl", "é x%20+&=#?.jsonl"]
        deep = {"pattern": "b/**/*.jsonl"}
        rows = read(folder.reader(folder.feed(**deep), start=2))
        assert sorted(rows["_file"].to_pylist()) == ["b/c.jsonl", "b/d/e.jsonl"]

    def test_names_in_order_are_those_after_the_last(self, folder):
        feed = folder.feed(discovery="ordered")
        for name in ("b", "c"):
            folder.put(name, {"bpm": 1})
        assert read(folder.reader(feed)).num_rows == 2
        for name in ("a", "c1", "d"):
            folder.put(name, {"bpm": 2})
        found = folder.place.files_after("c", 1)
        assert ([file.name for file in found.files], found.is_last) == (["c1"], False)
        rows = read(folder.reader(feed, start=2))
        assert rows["_file"].to_pylist() == ["c1", "d"]
        assert not has_new_files(feed, folder.lake)

    @pytest.mark.parametrize(
        ("name", "pack"),
        [
            ("a.gz", gzip.compress),
            ("a.bz2", bz2.compress),
            ("a.zst", lambda raw: pa.compress(raw, "zstd", asbytes=True)),
            ("a.gz", lambda raw: gzip.compress(raw[:20]) + gzip.compress(raw[20:])),
        ],
    )
    def test_compressed_files_are_read(self, folder, name, pack):
        folder.put_bytes(name, pack(b'{"bpm": 1}\n' * 50_000))
        assert read(folder.reader(max_rows=10**6))["value"].to_pylist() == [b'{"bpm": 1}'] * 50_000

    @pytest.mark.parametrize("format_", ["json", "csv", "avro", "parquet"])
    def test_files_of_each_format_are_read(self, folder, format_):
        values = [b'{"bpm":%d}' % number for number in range(3)]
        content, payload = {
            "json": (b"[" + b",".join(values) + b"]", None),
            "csv": (b"time,bpm\n1,1\n'2',2\n", CSV),
            "avro": (header() + block(beats(0, 1, 2)), Payload(avro=AvroPayload())),
            "parquet": (parquet(3), None),
        }[format_]
        folder.put_bytes("a", content)
        more = {"header": True} if format_ == "csv" else {}
        given = () if payload is None else (payload,)
        rows = read(folder.reader(folder.feed(*given, format=format_, **more)))
        assert rows["_problem"].null_count == rows.num_rows == (2 if format_ == "csv" else 3)
        if format_ in {"json", "parquet"}:
            assert [json.loads(v) for v in rows["value"].to_pylist()] == [
                json.loads(v) for v in values
            ]

    def test_large_files_are_read_in_parts(self, folder, monkeypatch):
        monkeypatch.setattr(measuring, "MARK_BYTES", 1_000)
        monkeypatch.setattr(measuring, "CHUNK_BYTES", 500)
        monkeypatch.setattr(cutting, "CHUNK_BYTES", 700)
        folder.put("a", *({"bpm": number} for number in range(1_000)))
        rows = pa.concat_tables(batches(folder.reader(max_rows=300, tasks=3)))
        assert rows["ordinal"].to_pylist() == list(range(1_000))
        assert [json.loads(v)["bpm"] for v in rows["value"].to_pylist()] == list(range(1_000))

    def test_large_files_of_parquet_are_read_in_parts(self, folder):
        folder.put_bytes("a", parquet(250_000, row_group_size=90_000))
        feed = folder.feed(format="parquet")
        rows = pa.concat_tables(batches(folder.reader(feed, max_rows=100_000)))
        assert rows["_problem"].null_count == rows.num_rows == 250_000
        assert json.loads(rows["value"][249_999].as_py()) == {"bpm": 249_999}

    def test_files_that_are_none_are_rows_that_say_so(self, folder):
        folder.put_bytes("a.gz", b"no gzip")
        folder.put("b", {"bpm": 1})
        rows = told(read(folder.reader()), "_file", "value", "_problem")
        assert [row[:2] for row in rows] == [("a.gz", None), ("b", b'{"bpm": 1}')]
        assert "cannot be decompressed" in rows[0][2]

    def test_a_file_that_vanishes_or_is_rewritten_before_it_is_read_is_told_of(self, folder):
        for name in ("gone", "less", "more", "grown"):
            folder.put(name, {"bpm": 1}, {"bpm": 2})
        reader = folder.reader()
        at = reader.initialOffset()
        end = reader.latestOffset(at, None)
        folder.remove("gone")
        folder.put("less", {"bpm": 9})
        folder.put("more", {"bpm": 100_000}, {"bpm": 2}, {"bpm": 3})
        folder.put("grown", {"bpm": 1}, {"bpm": 2}, {"bpm": 7})
        rows = [b for part in reader.partitions(at, end) for b in reader.read(part)]
        reader.stop()
        found = told(pa.Table.from_batches(rows), "_file", "_row", "value", "_problem")
        by_name = {name: [row[1:] for row in found if row[0] == name] for name, *_ in found}
        assert by_name["gone"] == [(1, None, "file gone: vanished before it was read")]
        for name in ("less", "more"):
            assert [row[:2] for row in by_name[name]] == [(1, None)]
            assert "was rewritten after it was found" in by_name[name][0][2]
        assert by_name["grown"] == [(1, b'{"bpm": 1}', None), (2, b'{"bpm": 2}', None)]

    def test_files_that_change_are_noted_once_and_not_read_again(self, folder):
        for name in ("grown", "rewritten", "more"):
            folder.put(name, {"bpm": 1})
        assert read(folder.reader()).num_rows == 3
        folder.put("grown", {"bpm": 1}, {"bpm": 2})
        folder.put("rewritten", {"b": 1})
        folder.put("more", {"bpm": 22222})
        for _ in range(2):
            assert read(folder.reader(start=3)).num_rows == 0
            changes = changes_in(folder.lake, "beats")
            states = {change.file.name: change.state for change in changes}
            assert states == {"grown": "grown", "rewritten": "rewritten", "more": "rewritten"}
            assert len(changes) == 3

    @pytest.mark.parametrize("way", ["archive", "delete"])
    def test_files_leave_when_bronze_has_them(self, folder, way):
        feed = folder.feed(**folder.leaving(way))
        for name in ("a", "deep/b"):
            folder.put(name, {"bpm": 1}, {"bpm": 2})
        folder.put_bytes("bad.gz", b"no gzip")
        deep = feed.model_copy(
            update={"source": folder.feed(pattern="**/*", **folder.leaving(way)).source}
        )
        assert read(folder.reader(deep)).num_rows == 5
        assert folder.names() == ["a", "bad.gz", "deep/b"]
        record(folder.lake, 5, 1)
        read(folder.reader(deep, start=5))
        if way == "delete":
            assert folder.names() == ["bad.gz"]
            return
        assert folder.names() == []
        assert folder.archived() == ["a", "bad.gz", "deep/b"]
        rows = read(folder.reader(deep))  # as after a RESTORE of bronze
        assert rows.num_rows == 5
        assert [v for v in rows["value"].to_pylist() if v] == [b'{"bpm": 1}', b'{"bpm": 2}'] * 2

    def test_a_file_that_changed_since_it_was_found_stays(self, folder):
        feed = folder.feed(**folder.leaving("archive"))
        folder.put("a", {"bpm": 1})
        read(folder.reader(feed))
        folder.put("a", {"bpm": 1}, {"bpm": 2})
        record(folder.lake, 1, 1)
        read(folder.reader(feed, start=1))
        assert (folder.names(), folder.archived()) == (["a"], [])

    def test_a_name_that_is_taken_in_the_archive_gets_its_offset(self, folder):
        feed = folder.feed(**folder.leaving("archive"))
        folder.put("a", {"bpm": 1})
        read(folder.reader(feed))
        folder.put_archived("a", b"of before\n")
        record(folder.lake, 1, 1)
        read(folder.reader(feed, start=1))
        assert folder.archived() == ["a", "a.0"]
        assert read(folder.reader(feed))["value"].to_pylist() == [b'{"bpm": 1}']
        folder.put("b", {"bpm": 2})
        read(folder.reader(feed, start=1))
        for name in ("b", "b.1"):
            folder.put_archived(name, b"others'")
        record(folder.lake, 2, 2)
        read(folder.reader(feed, start=2))
        assert folder.names() == ["b"]

    def test_more_empty_files_leave_than_are_known_at_once(self, folder, monkeypatch):
        feed = folder.feed(**folder.leaving("delete"))
        for number in range(7):
            folder.put_bytes(f"empty{number}", b"")
        folder.put("rows", {"bpm": 1})
        read(folder.reader(feed))
        monkeypatch.setattr(stream, "_CLEANED", 3)
        record(folder.lake, 1, 1)
        read(folder.reader(feed, start=1))
        assert folder.names() == []

    def test_a_kill_while_files_leave_loses_and_doubles_nothing(self, folder):
        """By SIGKILL of a real process, at each change of the place that it makes."""
        feed = folder.feed(**folder.leaving("archive"))
        folder.put("a", {"bpm": 1})
        folder.put("b", {"bpm": 2})
        read(folder.reader(feed))
        (first, second), kills = entries_from(folder.lake, "beats", 0, 9), 0
        while True:
            program = [sys.executable, "-c", _LEAVING, folder.as_json(), str(kills)]
            done = subprocess.run(program, check=False)  # noqa: S603 - our own
            left = [name.rpartition("/")[2] for name in (*folder.names(), *folder.archived())]
            assert set(left) >= {"a", "b"}
            values = read(folder.reader(feed))["value"].to_pylist()
            assert values == [b'{"bpm": 1}', b'{"bpm": 2}']
            if not done.returncode:
                break
            assert done.returncode == -signal.SIGKILL
            kills += 1
        assert kills
        for entry in (first, second):
            folder.place_of(feed).leave(entry, makes_archive=False)
        assert (folder.names(), folder.archived()) == ([], ["a", "b"])


_LEAVING = """
import os, signal, sys
from lake_assets_tests.sources.files.places import opened_from_json
from lake_assets.sources.files.index import entries_from
import obstore

folder, left = opened_from_json(sys.argv[1]), int(sys.argv[2])

def dying(real):
    def die(*given, **more):
        global left
        made = real(*given, **more)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return made
    return die

for name in ("rename", "replace", "mkdir", "unlink"):
    setattr(os, name, dying(getattr(os, name)))
for name in ("copy", "delete"):
    setattr(obstore, name, dying(getattr(obstore, name)))
place = folder.place_of(folder.feed(**folder.leaving("archive")))
for entry in entries_from(folder.lake, "beats", 0, 9):
    place.leave(entry, makes_archive=True)
"""
