"""What a query's reader finds and reads, asked as Spark asks it; without Spark."""

import bz2
import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from lake_assets.delta.log_history import open_table
from lake_assets.errors import CommitConflictError, LakeError, SourceError, SourceNotFoundError
from lake_assets.model.csv_payload import CsvPayload
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import Payload
from lake_assets.model.tables import files_of
from lake_assets.sources.files import cutting, discovery, file_formats, measuring, source, stream
from lake_assets.sources.files.discovery import Discovery, has_new_files
from lake_assets.sources.files.index import changes_in, end_of, entries_from
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.sources.files.listing import list_files
from lake_assets_tests.sources.files.folders import Folder, batches, read, told

CSV = Payload(csv=CsvPayload(ddl="time string, bpm int"))


@pytest.fixture
def folder(tmp_path):
    found = Folder(tmp_path)
    found.feed()
    return found


def test_lines_have_file_line_first_byte_and_the_time_of_their_file(folder):
    path = folder.put("a.jsonl", {"bpm": 1}, b"", {"bpm": 2})
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    rows = read(folder.reader())
    assert told(rows, "ordinal", "_file", "_row", "_position", "value") == [
        (0, "a.jsonl", 1, 0, b'{"bpm": 1}'),
        (2, "a.jsonl", 3, 12, b'{"bpm": 2}'),
    ]
    assert pc.unique(rows["modified_at"]).cast(pa.int64()).to_pylist() == [1_700_000_000_123_456]


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.jsonl.gz", gzip.compress),
        ("a.jsonl.bz2", bz2.compress),
        ("a.jsonl.zst", lambda raw: pa.compress(raw, "zstd", asbytes=True)),
        ("a.jsonl.gz", lambda raw: gzip.compress(raw[:20]) + gzip.compress(raw[20:])),
        ("a.jsonl.gz", lambda raw: gzip.compress(raw) + bytes(512)),
        ("a.jsonl.gz", lambda raw: gzip.compress(raw[:20]) + bytes(9) + gzip.compress(raw[20:])),
    ],
)
def test_compressed_files_are_read_by_their_ending(folder, name, pack):
    (folder.path / name).write_bytes(pack(b'{"bpm": 1}\r\n{"bpm": 2}\n{"bpm": 3}'))
    rows = read(folder.reader())
    assert told(rows, "_row", "value", "_position") == [
        (1, b'{"bpm": 1}', None),
        (2, b'{"bpm": 2}', None),
        (3, b'{"bpm": 3}', None),
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig"])
def test_other_encodings_come_as_utf_8(folder, encoding):
    (folder.path / "a.jsonl").write_bytes('{"name": "é"}\n{"name": "b"}\n'.encode(encoding))
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    rows = read(folder.reader(folder.feed(encoding=declared)))
    assert [json.loads(value)["name"] for value in rows["value"].to_pylist()] == ["é", "b"]


@pytest.mark.parametrize(
    ("name", "content", "declared", "why"),
    [
        ("a.gz", gzip.compress(b"{}\n" * 9999, mtime=0)[:-9], {}, "cannot be decompressed"),
        ("a.gz", b"no gzip", {}, "cannot be decompressed"),
        ("a", b"\xd8\x00\xd8", {"encoding": "utf-16-be"}, "is not of its encoding"),
        ("a.json", b'[{"a": 1}, ]', {"format": "json"}, "a value is missing after `,`"),
        ("a.json", b'[{"a": 1} {}]', {"format": "json"}, "`,` or `]` is missing"),
        ("a.json", b'{"a": 1', {"format": "json"}, "is no JSON"),
        ("a.json", b'"\xff"', {"format": "json"}, "is not UTF-8"),
    ],
)
def test_a_bad_file_is_one_row_that_says_why_and_the_rest_goes_on(
    folder, name, content, declared, why
):
    (folder.path / name).write_bytes(content)
    os.utime(folder.path / name, (0, 0))
    good = '{"bpm": 1}'.encode(declared.get("encoding", "utf-8"))
    (folder.path / "good").write_bytes(good)
    rows = read(folder.reader(folder.feed(**declared)))
    bad, good = told(rows, "_file", "_row", "value", "_problem")
    assert bad[:3] == (name, 1, None)
    assert f"file {name}: " in bad[3]
    assert why in bad[3]
    assert good[1:] == (1, b'{"bpm": 1}', None)


def test_a_document_s_elements_are_rows_as_they_stand_in_it(folder):
    text = ' [ {"a": "é"},\n {"a": [1, 2]} ]\n{"a": 3} [] '
    (folder.path / "a.json").write_text(text)
    rows = told(read(folder.reader(folder.feed(format="json"))), "_row", "_position", "value")
    assert [(row, value) for row, _, value in rows] == [
        (1, '{"a": "é"}'.encode()),
        (2, b'{"a": [1, 2]}'),
        (3, b'{"a": 3}'),
    ]
    raw = text.encode()
    assert all(raw[at : at + len(value)] == value for _, at, value in rows)


def test_records_of_csv_have_the_line_they_begin_in(folder):
    content = b'time,BPM\n1,2\n"3\n,""4"\r\n5,6\n\n7,"8\n'
    (folder.path / "a.csv").write_bytes(content)
    rows = read(folder.reader(folder.feed(CSV, format="csv", header=True)))
    assert told(rows, "_row", "value") == [
        (2, b"1,2"),
        (3, b'"3\n,""4"'),
        (5, b"5,6"),
        (7, b'7,"8'),
    ]


@pytest.mark.parametrize(
    "first", [b"bpm,time\n", b"1,2\n", b"\n", b"time\rx,bpm\n", b"x" * 200_000 + b"\n"]
)
def test_a_file_with_another_header_is_refused_whole(folder, first):
    (folder.path / "a.csv").write_bytes(first + b"1,2\n")
    rows = read(folder.reader(folder.feed(CSV, format="csv", header=True)))
    ((value, problem),) = told(rows, "value", "_problem")
    assert value is None
    assert "time,bpm" in problem


def test_a_header_without_rows_is_a_file_without_rows(folder):
    (folder.path / "a.csv").write_bytes(b"time,bpm")
    assert read(folder.reader(folder.feed(CSV, format="csv", header=True))).num_rows == 0


def test_a_header_may_stand_between_the_payload_s_own_quotes(folder):
    payload = Payload(csv=CsvPayload(ddl="time string, bpm int", quote="'"))
    (folder.path / "a.csv").write_bytes(b"'time','bpm'\n1,2\n")
    rows = read(folder.reader(folder.feed(payload, format="csv", header=True)))
    assert told(rows, "_row", "value") == [(2, b"1,2")]


def test_a_byte_order_mark_alone_is_no_row(folder):
    (folder.path / "a").write_bytes(b"\xef\xbb\xbf")
    assert read(folder.reader()).num_rows == 0


def test_an_integer_of_many_digits_is_no_matter_of_the_file(folder):
    content = b'{"bpm": ' + b"9" * 5_000 + b"}"
    (folder.path / "a.json").write_bytes(content)
    rows = read(folder.reader(folder.feed(format="json")))
    assert told(rows, "value", "_problem") == [(content, None)]


def test_large_files_are_cut_at_marks_into_batches_and_parts(folder, monkeypatch):
    monkeypatch.setattr(measuring, "MARK_BYTES", 1_000)
    monkeypatch.setattr(measuring, "CHUNK_BYTES", 500)
    monkeypatch.setattr(cutting, "CHUNK_BYTES", 700)
    folder.put("a.jsonl", *({"bpm": number} for number in range(1_000)))
    found = list(batches(folder.reader(max_rows=300, tasks=3)))
    assert len(found) > 3
    rows = pa.concat_tables(found)
    assert rows["ordinal"].to_pylist() == list(range(1_000))
    assert [json.loads(v)["bpm"] for v in rows["value"].to_pylist()] == list(range(1_000))
    raw = (folder.path / "a.jsonl").read_bytes()
    assert all(raw[at:].startswith(value) for at, value in told(rows, "_position", "value"))


def test_marks_lie_at_no_line_within_quotes(folder, monkeypatch):
    monkeypatch.setattr(measuring, "MARK_BYTES", 100)
    monkeypatch.setattr(measuring, "CHUNK_BYTES", 64)
    content = b"".join(b'"%d\n\n",%d\n' % (number, number) for number in range(200))
    (folder.path / "a.csv").write_bytes(content)
    rows = read(folder.reader(folder.feed(CSV, format="csv"), max_rows=50))
    assert rows["value"].to_pylist() == [b'"%d\n\n",%d' % (n, n) for n in range(200)]
    assert len(entries_from(folder.lake, "beats", 0, 9)[0].marks) > 3


def test_a_line_that_is_too_long_is_told_of_and_those_behind_it_come(folder, monkeypatch):
    monkeypatch.setattr(cutting, "MOST_BYTES", 100)
    monkeypatch.setattr(cutting, "CHUNK_BYTES", 64)
    folder.put("a", b"1", b"x" * 1_000, b"2", b"y" * 500)
    rows = told(read(folder.reader()), "_row", "value", "_problem")
    assert [row[:2] for row in rows] == [(1, b"1"), (2, None), (3, b"2"), (4, None)]
    assert "is longer than" in rows[1][2]


def test_an_element_that_is_too_long_is_a_row_that_says_so(folder, monkeypatch):
    monkeypatch.setattr(cutting, "MOST_BYTES", 100)
    (folder.path / "a.json").write_text(json.dumps([1, "x" * 1_000, 2]))
    rows = told(read(folder.reader(folder.feed(format="json"))), "_row", "value", "_problem")
    assert [row[:2] for row in rows] == [(1, b"1"), (2, None), (3, b"2")]
    assert "is longer than" in rows[1][2]


def test_empty_files_hidden_ones_and_other_names_have_no_rows(folder):
    (folder.path / "empty.jsonl").touch()
    for name in (".a.jsonl", "_b.jsonl", "c.jsonl.tmp", "d.csv", "_tmp/e.jsonl", "f/g.jsonl"):
        folder.put(name, {"bpm": 1})
    assert read(folder.reader(folder.feed(pattern="*.jsonl"))).num_rows == 0
    assert not has_new_files(folder.feed(pattern="*.jsonl"), folder.lake)
    rows = read(folder.reader(folder.feed(pattern="**/*.jsonl")))
    assert rows["_file"].to_pylist() == ["f/g.jsonl"]


def test_an_index_that_died_before_bronze_gives_the_same_offsets_again(folder):
    folder.put("a", {"bpm": 1}, {"bpm": 2})
    first = read(folder.reader())
    folder.put("b", {"bpm": 3})
    again = read(folder.reader())  # bronze has nothing yet
    assert again.slice(0, 2) == first
    assert again["ordinal"].to_pylist() == [0, 1, 2]
    assert read(folder.reader(start=2))["_file"].to_pylist() == ["b"]


def test_of_two_who_find_the_same_file_one_gives_up(folder):
    folder.put("a", {"bpm": 1})
    feed = folder.feed()
    one, other = FileIndex(folder.lake, "beats"), FileIndex(folder.lake, "beats")
    first, second = (Discovery(feed, folder.lake, index, folder.place) for index in (one, other))
    assert len(first.step()) == 1
    with pytest.raises(CommitConflictError):
        second.step()
    assert end_of(open_table(folder.lake, files_of("beats")), "beats") == 1
    one.close()
    other.close()


def test_a_file_that_vanishes_or_is_rewritten_before_it_is_read_is_told_of(folder):
    for name in ("gone", "less", "same", "more", "grown"):
        folder.put(name, {"bpm": 1}, {"bpm": 2})
    reader = folder.reader()
    at = reader.initialOffset()
    end = reader.latestOffset(at, None)
    (folder.path / "gone").unlink()
    folder.put("less", {"bpm": 9})
    folder.put("same", {"bpm": 3}, {"bpm": 4})
    folder.put("more", {"bpm": 100_000}, {"bpm": 2}, {"bpm": 3})
    os.utime(folder.path / "same", (0, 0))
    with (folder.path / "grown").open("ab") as file:
        file.write(b'{"bpm": 7}\n')
    rows = [b for part in reader.partitions(at, end) for b in reader.read(part)]
    reader.stop()
    found = told(pa.Table.from_batches(rows), "_file", "_row", "value", "_problem")
    by_name = {name: [row[1:] for row in found if row[0] == name] for name, *_ in found}
    assert by_name["gone"] == [(1, None, "file gone: vanished before it was read")]
    assert len(by_name["less"]) == len(by_name["same"]) == 1
    for name in ("less", "more"):
        assert [row[:2] for row in by_name[name]] == [(1, None)]
        assert "was rewritten after it was found" in by_name[name][0][2]
    assert by_name["grown"] == [(1, b'{"bpm": 1}', None), (2, b'{"bpm": 2}', None)]


def test_files_that_change_once_they_are_found_are_noted_and_not_read_again(folder):
    grown, rewritten = folder.put("grown", {"bpm": 1}), folder.put("rewritten", {"bpm": 1})
    more = folder.put("more", {"bpm": 1})
    assert read(folder.reader()).num_rows == 3
    with grown.open("ab") as file:
        file.write(b'{"bpm": 2}\n')
    rewritten.write_bytes(b"{}\n")
    more.write_bytes(b'{"bpm": 22222}\n')
    for _ in range(2):  # noted once
        assert read(folder.reader(start=3)).num_rows == 0
        changes = {change.file.name: change.state for change in changes_in(folder.lake, "beats")}
        assert changes == {"grown": "grown", "rewritten": "rewritten", "more": "rewritten"}
        assert len(changes_in(folder.lake, "beats")) == 3


@pytest.mark.parametrize(
    ("content", "before", "after", "values"),
    [
        (b'[{"bpm": 1}\n, {"bpm": 2}]\n', {"format": "json"}, {}, [b'{"bpm": 1}', b'{"bpm": 2}']),
        (b'{"bpm": 1}\n{"bpm": 2}\n', {}, {"format": "json"}, [b'{"bpm": 1}', b'{"bpm": 2}']),
        ("é\nè\n".encode("latin-1"), {"encoding": "latin-1"}, {}, ["é".encode(), "è".encode()]),
        (gzip.compress(b"{}\n[]\n", mtime=0), {"compression": "gzip"}, {}, [b"{}", b"[]"]),
    ],
)
def test_a_file_is_read_as_it_was_counted_whatever_the_feed_says_by_then(
    folder, content, before, after, values
):
    """Its lines have their offsets; those of files that are found later are as declared now."""
    folder.feed()
    (folder.path / "a").write_bytes(content)
    counted = folder.reader(folder.feed(**before))
    assert counted.latestOffset({"at": 0}, None) == {"at": 2}
    counted.stop()
    folder.put("b", {"bpm": 3})
    rows = read(folder.reader(folder.feed(**after)))
    assert rows["value"].to_pylist() == [*values, b'{"bpm": 3}']


def test_records_of_csv_are_cut_as_they_were_counted_too(folder):
    folder.feed()
    (folder.path / "a").write_bytes(b"time;bpm\n'x\ny';1\n")
    other = Payload(csv=CsvPayload(ddl="time string, bpm int", delimiter=";", quote="'"))
    declared = {"format": "csv", "header": True}
    counted = folder.reader(folder.feed(other, **declared))
    assert counted.latestOffset({"at": 0}, None) == {"at": 3}
    counted.stop()
    rows = read(folder.reader(folder.feed(CSV, **declared)))
    assert told(rows, "_row", "value") == [(2, b"'x\ny';1")]


def test_ordered_discovery_reads_later_names_alone(folder):
    feed = folder.feed(discovery="ordered")
    folder.put("b", {"bpm": 1})
    assert read(folder.reader(feed)).num_rows == 1
    folder.put("a", {"bpm": 2})
    folder.put("c", {"bpm": 3})
    assert has_new_files(feed, folder.lake)
    rows = read(folder.reader(feed, start=1))
    assert rows["_file"].to_pylist() == ["c"]
    assert not has_new_files(feed, folder.lake)


def test_ordered_discovery_takes_none_before_one_that_has_not_settled(folder):
    feed = folder.feed(discovery="ordered", settle="1h")
    for name, age_s in (("a", 9_000), ("b", 0), ("c", 9_000)):
        path = folder.put(name, {"bpm": 1})
        os.utime(path, ns=(0, path.stat().st_mtime_ns - age_s * 10**9))
    index = FileIndex(folder.lake, "beats")
    found = Discovery(feed, folder.lake, index, folder.place).step()
    assert [entry.file.name for entry in found] == ["a"]
    index.close()


@pytest.mark.parametrize("mode", ["list", "ordered"])
def test_a_run_that_ends_waits_for_files_that_settle_however_long_looks_take(
    folder, monkeypatch, mode
):
    monkeypatch.setattr(discovery, "_SHARE", 10**6)
    folder.put("a", {"bpm": 1})
    assert read(folder.reader(folder.feed(discovery=mode, settle="1s"))).num_rows == 1


@pytest.mark.parametrize("mode", ["list", "ordered"])
def test_no_file_is_passed_when_the_disk_fails_while_files_are_counted(folder, monkeypatch, mode):
    feed = folder.feed(discovery=mode)
    for name in "abc":
        folder.put(name, {"bpm": 1})
    real, failed = file_formats.measure, []

    def measure(cut, name, *rest):
        if name == "b" and not failed:
            failed.append(name)
            raise SourceError("folder /x", "cannot be read", "Wait")
        return real(cut, name, *rest)

    monkeypatch.setattr(discovery, "measure", measure)
    monkeypatch.setattr(stream, "_RETRY_S", 0.0)
    assert told(read(folder.reader(feed)), "_file") == [("a",), ("b",), ("c",)]
    assert failed


def test_a_folder_or_pipe_that_took_a_file_s_name_is_no_file(folder, monkeypatch):
    for number, name in enumerate("abc"):
        os.utime(folder.put(name, {"bpm": 1}), (number, number))
    real = file_formats.measure

    def measure(cut, name, file, size):
        if name == "b":
            (folder.path / name).unlink()
            (folder.path / name).mkdir()
        return real(cut, name, file, size)

    monkeypatch.setattr(discovery, "measure", measure)
    assert told(read(folder.reader()), "_file") == [("a",), ("c",)]
    (folder.path / "a").unlink()
    os.mkfifo(folder.path / "a")
    first, _ = read(folder.reader())["_problem"].to_pylist()
    assert "vanished before it was read" in first


def test_a_link_to_itself_holds_nothing_up(folder):
    folder.put("a", {"bpm": 1})
    (folder.path / "loop").symlink_to("loop")
    assert read(folder.reader()).num_rows == 1


def test_more_empty_files_are_passed_than_are_known_at_once(folder, monkeypatch):
    for number in range(12):
        os.utime(folder.put(f"empty{number}"), (number, number))
    folder.put("rows", {"bpm": 1})
    assert read(folder.reader()).num_rows == 1
    monkeypatch.setattr(stream, "_MOST", 5)
    assert read(folder.reader()).num_rows == 1  # from the index
    monkeypatch.setattr(source, "_PAGE", 5)
    place = ("files", 0)
    files = source.FolderFiles(folder.feed(), folder.lake)
    fetched = files.fetch(starts={place: 0}, ends={place: 1})
    assert sum(part.rows.num_rows for part in fetched) == 1
    assert place in files.times({place: 0})


def test_many_files_are_found_in_steps(folder, monkeypatch):
    monkeypatch.setattr(discovery, "_MOST", 10)
    monkeypatch.setattr(discovery, "_CHUNK", 4)
    names = [f"{number:03}" for number in range(57)]
    for name in names:
        folder.put(name, {"bpm": 1})
    for mode in ("list", "ordered"):
        alone = Folder(folder.root / mode)
        alone.root.mkdir()
        feed = folder.feed(discovery=mode)
        rows = read(alone.reader(feed, max_rows=7))
        assert sorted(rows["_file"].to_pylist()) == names
        assert rows["ordinal"].to_pylist() == list(range(57))


def test_a_folder_that_is_not_there_is_told(folder, monkeypatch):
    monkeypatch.setattr(stream, "_RETRY_S", 0.0)
    reader = folder.reader()
    folder.path.rmdir()
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        reader.latestOffset(reader.initialOffset(), None)
    reader.stop()


def test_an_index_that_was_put_back_is_refused_until_it_has_all_files_again(folder):
    folder.put("a", {"bpm": 1})
    read(folder.reader())
    index = DeltaTable(folder.root / "lake" / files_of("beats").relative)
    before = index.version()
    folder.put("b", {"bpm": 2})
    read(folder.reader(start=1))
    index.update_incremental()
    newest = index.version()
    index.restore(before)
    with pytest.raises(LakeError, match="it ends at offset 1 in place of 2"):
        FileIndex(folder.lake, "beats")
    index.restore(newest)
    folder.put("c", {"bpm": 3})
    assert read(folder.reader(start=2))["_file"].to_pylist() == ["c"]


def test_the_index_records_its_owner(folder):
    folder.put("a", {"bpm": 1})
    read(folder.reader())
    table = DeltaTable(folder.root / "lake" / files_of("beats").relative)
    assert table.metadata().configuration["lake_assets.feed"] == "beats"


def test_a_folder_that_goes_before_its_files_are_read_is_waited_for(folder):
    folder.put("a", {"bpm": 1})
    reader = folder.reader()
    at = reader.initialOffset()
    end = reader.latestOffset(at, None)
    away = folder.path.rename(folder.root / "away")
    (part,) = reader.partitions(at, end)
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        list(reader.read(part))
    away.rename(folder.path)
    (rows,) = reader.read(part)
    reader.stop()
    assert rows["value"].to_pylist() == [b'{"bpm": 1}']


def test_a_folder_that_moved_is_read_on_and_other_files_of_the_same_names_are_changes(folder):
    folder.put("a", {"bpm": 1})
    assert read(folder.reader()).num_rows == 1
    moved = folder.path.rename(folder.root / "moved")
    (moved / "b").write_bytes(b'{"bpm": 2}\n')
    rows = read(folder.reader(folder.feed(path=str(moved)), start=1))
    assert told(rows, "_file", "ordinal") == [("b", 1)]
    other = folder.root / "other"
    other.mkdir()
    (other / "a").write_bytes(b'{"bpm": 30}\n')
    assert read(folder.reader(folder.feed(path=str(other)), start=2)).num_rows == 0
    (change,) = changes_in(folder.lake, "beats")
    assert (change.file.name, change.state) == ("a", "rewritten")


_KILLED = """
import os, signal, sys
from pathlib import Path
from lake_assets.sources.files import index_writer
from lake_assets_tests.sources.files.folders import Folder

folder, way = Folder(Path(sys.argv[1])), sys.argv[2]
kill = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
reader = folder.reader()
at = reader.initialOffset()
if way == "before":
    index_writer.FileIndex._commit = kill
end = reader.latestOffset(at, None)
for part in reader.partitions(at, end):
    assert sum(rows.num_rows for rows in reader.read(part)) == 2
kill()
"""


@pytest.mark.parametrize("way", ["before", "after"])
def test_a_kill_beside_the_index_s_commit_doubles_and_loses_nothing(folder, way):
    """By SIGKILL; bronze has nothing then, of rows that have their offsets or have them not yet."""
    folder.put("a", {"bpm": 1}, {"bpm": 2})
    done = subprocess.run([sys.executable, "-c", _KILLED, str(folder.root), way], check=False)  # noqa: S603
    assert done.returncode == -signal.SIGKILL
    assert len(entries_from(folder.lake, "beats", 0, 9)) == (way == "after")
    folder.put("b", {"bpm": 3})
    rows = read(folder.reader())
    assert told(rows, "ordinal", "_file", "_row") == [(0, "a", 1), (1, "a", 2), (2, "b", 1)]
    assert [entry.first for entry in entries_from(folder.lake, "beats", 0, 9)] == [0, 2]


def test_a_link_whose_target_may_not_be_looked_at_is_passed_over_and_told_once(caplog):
    with TemporaryDirectory(dir="/tmp") as root:  # which, unlike a TMPDIR, is open to each user
        folder, closed = Path(root, "in"), Path(root, "closed")
        folder.mkdir()
        closed.mkdir()
        Path(root).chmod(0o755)
        (closed / "a").write_text("{}")
        (folder / "a").symlink_to(closed / "a")
        (folder / "b").write_text("{}")
        source = FilesSource(path=str(folder), format="jsonl")
        found = list(list_files(source))
        closed.chmod(0)
        user = os.geteuid()
        try:
            os.seteuid(user or 65_534)  # root may look at anything
            names = [[file.name for file in list_files(source)] for _ in range(2)]
        finally:
            os.seteuid(user)
            closed.chmod(0o755)
    assert sorted(file.name for file in found) == ["a", "b"]
    assert names == [["b"], ["b"]]
    assert [message for message in caplog.messages if "is passed over" in message] == [
        f"link {folder}/a is passed over: what it leads to may not be looked at"
    ]


def test_a_look_that_takes_long_goes_on_with_the_next_step(folder, monkeypatch):
    """As at a bucket of a million names, where the streams would count as stalled."""
    monkeypatch.setattr(discovery, "_CHUNK", 4)
    names = [f"{number:03}" for number in range(20)]
    for name in names:
        folder.put(name, {"bpm": 1})
    ticks = iter(range(0, 10**6, 3))  # each time it looks at the clock three seconds are gone
    index = FileIndex(folder.lake, "beats")
    found = Discovery(folder.feed(), folder.lake, index, folder.place, clock=lambda: next(ticks))
    steps = []
    while not found.looks:
        steps.append([entry.file.name for entry in found.step()])
    index.close()
    assert sorted(name for step in steps for name in step) == names
    assert len(steps) >= 5
