"""A prefix of a bucket as a place of files, on a real server that speaks S3."""

import os
import pickle
import subprocess
import sys
import threading
import time
from contextlib import suppress

import httpx
import pyarrow as pa
import pytest

from lake_assets.errors import SettingsError, SourceError, SourceNotFoundError
from lake_assets.model.payload import AvroPayload, Payload
from lake_assets.sources.files import (
    bucket_ahead,
    bucket_stream,
    cutting,
    discovery,
    file_formats,
    measuring,
    opening,
    stream,
)
from lake_assets.sources.files.cleaning import clean
from lake_assets.sources.files.discovery import has_new_files
from lake_assets.sources.files.index import changes_in, entries_from
from lake_assets.sources.files.measuring import Cut
from lake_assets.sources.files.reading import Part, read_part
from lake_assets.sources.files.source import FolderFiles
from lake_assets.storage import bucket_files
from lake_assets_tests.sources.files.buckets import KEY, KEY_ID, Bucketed
from lake_assets_tests.sources.files.containers import beats, block, header
from lake_assets_tests.sources.files.folders import read, told
from lake_assets_tests.sources.files.place_contract import PlaceContract
from lake_assets_tests.sources.files.recorded import record
from lake_assets_tests.storage.servers import PAGE


@pytest.fixture
def folder(tmp_path, s3, bucket, monkeypatch):
    for name in (KEY_ID, KEY):
        monkeypatch.setenv(name, "hush-hush")
    return Bucketed(tmp_path, server=s3, bucket=bucket)


class TestBucket(PlaceContract):
    """All that a place of files promises."""


def ordinals(rows):
    return rows["ordinal"].to_pylist()


def test_a_bucket_that_is_not_there_is_told(folder):
    place = folder.place_of(folder.feed(path="s3://no-such-bucket/in"))
    for use in (place.ensure, lambda: place.ensure(timeout_s=5), lambda: list(place.files())):
        with pytest.raises(SourceNotFoundError, match="there is no bucket 'no-such-bucket'"):
            use()


@pytest.mark.parametrize(
    ("code", "status", "fact"),
    [
        ("AccessDenied", 403, "the store refuses our credentials (AccessDenied)"),
        ("ExpiredToken", 400, "the store refuses our credentials (ExpiredToken)"),
        ("SignatureDoesNotMatch", 403, "the store refuses our credentials"),
        ("SlowDown", 503, "the store is asked too often, or is overloaded"),
        ("InternalError", 500, "cannot be"),
    ],
)
def test_what_a_bucket_refuses_is_an_error_that_says_so_and_never_a_bad_file(
    folder, monkeypatch, code, status, fact
):
    monkeypatch.setattr(stream, "_RETRY_S", 0.0)
    folder.put("a", {"bpm": 1})
    reader = folder.reader()
    end = reader.latestOffset({"at": 0}, None)
    (part,) = reader.partitions({"at": 0}, end)
    folder.put("b", {"bpm": 2})
    path = f"/{folder.bucket}/in"
    try:
        for method, small in (("GET", bucket_ahead.SMALL_BYTES), ("HEAD", 0), ("GET", 0)):
            monkeypatch.setattr(bucket_ahead, "SMALL_BYTES", small)
            folder.server.refuse(method, path, code, status=status)
            with pytest.raises(SourceError) as caught:
                list(reader.read(part))
            # A HEAD has no body, and so no code.
            assert method == "HEAD" or fact in str(caught.value)
            folder.server.forgive()
        folder.server.refuse("GET", f"/{folder.bucket}", code, status=status)
        with pytest.raises(SourceError) as caught:
            folder.reader(start=1).latestOffset({"at": 1}, None)
        assert fact in str(caught.value)
        assert folder.address in str(caught.value)
        assert "hush" not in str(caught.value)
    finally:
        folder.server.forgive()
        reader.stop()
    assert [row[0] for row in told(read(folder.reader()), "value")] == [
        b'{"bpm": 1}',
        b'{"bpm": 2}',
    ]


@pytest.mark.parametrize(("code", "status"), [("SlowDown", 503), ("cut", 200)])
def test_what_passes_is_tried_again(folder, code, status):
    folder.put("a", *({"bpm": number} for number in range(5_000)))
    folder.server.refuse("GET", f"/{folder.bucket}", code, status=status, times=1)
    assert read(folder.reader(max_rows=10**6)).num_rows == 5_000


def test_a_file_that_was_away_for_a_moment_is_no_bad_one(folder):
    """As behind a gateway that knows of no server for a second, and says 404."""
    folder.put("a", {"bpm": 1})
    reader = folder.reader()
    end = reader.latestOffset({"at": 0}, None)
    for method in ("GET", "HEAD"):
        path = f"/{folder.bucket}/in/a"
        folder.server.refuse(method, path, "NoSuchKey", status=404, times=1)
    rows = [b for part in reader.partitions({"at": 0}, end) for b in reader.read(part)]
    reader.stop()
    folder.server.forgive()
    assert pa.Table.from_batches(rows)["value"].to_pylist() == [b'{"bpm": 1}']


@pytest.mark.parametrize("discovery_", ["list", "ordered"])
def test_a_file_that_was_away_for_a_moment_is_found(folder, discovery_):
    """In order it would never be looked for again."""
    for name in ("a", "b"):
        folder.put(name, {"bpm": 1})
    folder.server.refuse("GET", f"/{folder.bucket}/in/a", "NoSuchKey", status=404, times=1)
    rows = read(folder.reader(folder.feed(discovery=discovery_)))
    folder.server.forgive()
    assert sorted(rows["_file"].to_pylist()) == ["a", "b"]


def test_a_server_that_is_not_there_is_told(folder):
    options = {**folder.options, "aws_endpoint": "http://127.0.0.1:9", "max_retries": "0"}
    with pytest.raises(SourceError, match="the store does not answer"):
        folder.place_of(folder.feed(options=options)).ensure(timeout_s=1)


def test_an_endpoint_without_encryption_must_be_allowed(folder):
    options = {name: value for name, value in folder.options.items() if "allow" not in name}
    with pytest.raises(SourceError, match="is http:// and that is not allowed"):
        folder.place_of(folder.feed(options=options)).ensure(timeout_s=5)


def test_secrets_that_are_not_set_and_options_that_are_none_are_told(folder, monkeypatch):
    with pytest.raises(SettingsError, match="cannot be used"):
        folder.place_of(folder.feed(options={"aws_nonsense": "1"}))
    monkeypatch.delenv(KEY)
    with pytest.raises(SettingsError, match=f"{KEY}: is not set"):
        folder.place_of(folder.feed())
    # As `status` would ask from another shell: the lag is unknown, and no error.
    files = FolderFiles(folder.feed(), folder.lake)
    for ask in (files.extent, files.has_unseen):
        with pytest.raises(SourceError, match=f"{KEY}: is not set"):
            ask()


def test_secrets_go_to_workers_and_nobody_is_shown_them(folder):
    folder.put("a", {"bpm": 1})
    reader = folder.reader()
    end = reader.latestOffset({"at": 0}, None)
    parts = reader.partitions({"at": 0}, end)
    shown = f"{vars(reader)!r} {parts!r} {[part.value for part in parts]!r} {end!r}"
    assert "hush" not in shown
    program = (
        "import pickle, sys\n"
        "reader, part = pickle.load(sys.stdin.buffer)\n"
        "print(sum(rows.num_rows for rows in reader.read(part)))"
    )
    done = subprocess.run(  # noqa: S603 - our own; it has not the variables
        [sys.executable, "-c", program],
        input=pickle.dumps((reader, parts[0])),
        env={"PATH": "", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    reader.stop()
    assert done.stdout == b"1\n"


@pytest.mark.parametrize("way", ["rewritten", "gone"])
def test_a_file_that_changes_while_it_is_read_is_never_read_half_and_half(folder, monkeypatch, way):
    monkeypatch.setattr(cutting, "CHUNK_BYTES", 2_000)
    monkeypatch.setattr(opening, "_BUFFER_BYTES", 2_000)
    monkeypatch.setattr(bucket_stream, "_MOST_AHEAD", 4_000)
    monkeypatch.setattr(bucket_ahead, "SMALL_BYTES", 0)
    folder.put("a", *({"bpm": 10_000 + number} for number in range(3_000)))
    reader = folder.reader(max_rows=10**6)
    end = reader.latestOffset({"at": 0}, None)
    rows = reader.read(reader.partitions({"at": 0}, end)[0])
    found = [next(rows)]
    if way == "gone":
        folder.remove("a")
    else:
        folder.put("a", *({"bpm": 20_000 + number} for number in range(3_000)))
    found += rows
    reader.stop()
    *values, (last, problem) = told(pa.Table.from_batches(found), "value", "_problem")
    assert 0 < len(values) < 3_000
    assert [value for value, _ in values] == [
        b'{"bpm": %d}' % (10_000 + number) for number in range(len(values))
    ]
    assert last is None
    assert f"{'vanished' if way == 'gone' else 'was rewritten'} while it was read" in problem


@pytest.mark.parametrize("format_", ["jsonl", "avro"])
def test_a_file_that_is_written_while_it_is_counted_is_found_later(folder, monkeypatch, format_):
    """Of Avro the rows before a place that cannot be read count, so that its error does not."""
    monkeypatch.setattr(bucket_ahead, "SMALL_BYTES", 0)
    monkeypatch.setattr(opening, "_BUFFER_BYTES", 500)
    monkeypatch.setattr(measuring, "CHUNK_BYTES", 500)
    blocks = [block(beats(*range(100))) for _ in range(9)]
    once, then = (
        (b'{"bpm": 1}\n' * 100, b'{"bpm": 3}\n')
        if format_ == "jsonl"
        else (header() + b"".join(blocks), header() + block(beats(3)))
    )
    folder.put_bytes("a", once)
    real, done = file_formats.measure, []

    def measure(cut, name, file, size):
        def opened(**given):
            stream = file(**given)
            real_readinto, reads = stream.readinto, []

            def readinto(buffer):
                reads.append(1)
                if len(reads) == 2 and not done:
                    done.append(folder.put_bytes("a", then))
                return real_readinto(buffer)

            stream.readinto = readinto
            return stream

        return real(cut, name, opened, size)

    monkeypatch.setattr(discovery, "measure", measure)
    given = () if format_ == "jsonl" else (Payload(avro=AvroPayload()),)
    rows = read(folder.reader(folder.feed(*given, format=format_)))
    assert done
    assert (rows["ordinal"].to_pylist(), rows["_problem"].null_count) == ([0], 1)


def test_the_same_content_that_is_put_again_is_no_change(folder):
    folder.put("a", {"bpm": 1})
    assert read(folder.reader()).num_rows == 1
    time.sleep(1.1)  # a bucket's times have seconds
    folder.put("a", {"bpm": 1})
    assert read(folder.reader(start=1)).num_rows == 0
    assert changes_in(folder.lake, "beats") == []
    assert read(folder.reader())["value"].to_pylist() == [b'{"bpm": 1}']


def test_content_that_has_another_tag_by_now_is_read_where_all_of_it_tells(folder):
    """As of what is encrypted anew before it is read. More than the sample, nobody can compare."""
    large = b'{"bpm": 2}\n' * 20_000
    for name, content in (("a", b'{"bpm": 1}\n'), ("b", large)):
        folder.put_bytes(name, content)
    reader = folder.reader(max_rows=10**6)
    end = reader.latestOffset({"at": 0}, None)
    for name, content in (("a", b'{"bpm": 1}\n'), ("b", large)):
        folder.put_in_parts(name, content)
    rows = [b for part in reader.partitions({"at": 0}, end) for b in reader.read(part)]
    reader.stop()
    found = told(pa.Table.from_batches(rows), "_file", "value", "_problem")
    assert ("a", b'{"bpm": 1}', None) in found
    ((value, problem),) = [row[1:] for row in found if row[0] == "b"]
    assert value is None
    assert "was rewritten after it was found" in problem


def test_a_mark_of_a_folder_is_no_file_and_asked_for_once(folder):
    put_mark(folder, "in/dir/")
    folder.put_bytes("empty", b"")
    place = folder.place
    folder.server.asked()
    assert [[file.name for file in place.files()] for _ in range(3)] == [["empty"]] * 3
    heads = [one[1] for one in folder.server.asked() if one[0] == "HEAD"]
    assert sorted(heads) == [f"/{folder.bucket}/in/{name}" for name in ("dir", "empty")]
    assert read(folder.reader()).num_rows == 0
    assert not has_new_files(folder.feed(), folder.lake)


def put_mark(folder, key):
    url = f"{folder.server.url}/{folder.bucket}/{key}"
    httpx.put(url, content=b"", trust_env=False, timeout=60).raise_for_status()


def test_a_name_that_is_none_is_told(folder):
    put_mark(folder, "in/a%09b")
    with pytest.raises(SourceError, match=r"cannot be listed .*illegal character"):
        list(folder.place.files())


def test_ordered_discovery_asks_for_no_names_that_are_known(folder, monkeypatch):
    monkeypatch.setattr(bucket_files, "_LISTED", PAGE)
    names = [f"{number:04}" for number in range(2 * PAGE + 9)]
    for name in names:
        folder.put(name, {"bpm": 1})
    feed = folder.feed(discovery="ordered")
    place = folder.place_of(feed)
    folder.server.asked()
    assert [file.name for file in place.files_after(names[-3], 10).files] == names[-2:]
    (asked,) = folder.server.asked()
    assert f"start-after=in%2F{names[-3]}" in asked[2]
    found = place.files_after("", 5)
    assert ([file.name for file in found.files], found.is_last) == (names[:5], False)
    assert len(folder.server.asked()) == 1
    # The whole list comes page by page, as it is gone through.
    files = place.files()
    assert next(files).name == names[0]
    assert len(folder.server.asked()) <= 2
    assert len(list(files)) == len(names) - 1


def test_a_copy_is_known_whatever_its_tag_and_others_of_its_size_are_not(folder):
    """As after a kill between the copy and the deletion, of a file that came in parts."""
    feed = folder.feed(**folder.leaving("archive"))
    for name, content in (("a", b'{"bpm": 1}\n'), ("b", b'{"bpm": 2}\n')):
        folder.put_in_parts(name, content)
    read(folder.reader(feed))
    folder.put_archived("a", b'{"bpm": 1}\n')
    folder.put_archived("b", b'{"bpm": 9}\n')
    place = folder.place_of(feed)
    for entry in entries_from(folder.lake, "beats", 0, 9):
        assert folder.files.stat(f"done/{entry.file.name}").etag != entry.file.etag
        place.leave(entry, makes_archive=False)
    assert (folder.names(), folder.archived()) == ([], ["a", "b", "b.1"])
    assert folder.get("done/b") == b'{"bpm": 9}\n'
    assert folder.get("done/b.1") == b'{"bpm": 2}\n'
    assert read(folder.reader(feed))["value"].to_pylist() == [b'{"bpm": 1}', b'{"bpm": 2}']


def test_a_file_whose_copy_is_written_over_stays_until_there_is_another(folder, monkeypatch):
    """As by another feed that archives there, between its look for the name and ours."""
    feed = folder.feed(**folder.leaving("archive"))
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    (entry,) = entries_from(folder.lake, "beats", 0, 9)
    real = bucket_files.BucketFiles.copy

    def copy(files, seen, key):
        real(files, seen, key)
        folder.put_archived("a", b'{"bpm": 9}\n')

    with monkeypatch.context() as patch:
        patch.setattr(bucket_files.BucketFiles, "copy", copy)
        assert clean(folder.place_of(feed), [entry]) == 0
    assert (folder.names(), folder.archived()) == (["a"], ["a"])
    assert clean(folder.place_of(feed), [entry]) == 1
    assert (folder.names(), folder.archived()) == ([], ["a", "a.0"])
    assert folder.get("done/a.0") == b'{"bpm": 1}\n'


def test_of_two_files_that_want_one_name_in_the_archive_at_once_none_is_lost(folder, monkeypatch):
    """Both look for the name before one of them is copied there: the other would be written over.

    It gets another name, or stays, whichever comes first.
    """
    feed = folder.feed(**folder.leaving("archive"))
    for name, bpm in (("a", 1), ("a.0", 2)):
        folder.put(name, {"bpm": bpm})
    read(folder.reader(feed))
    folder.put_archived("a", b"of before\n")
    real, both = bucket_files.BucketFiles.copy, threading.Barrier(2, timeout=3)

    def copy(files, seen, key):
        with suppress(threading.BrokenBarrierError):
            both.wait()
            while seen.key == "in/a" and "a.0" in folder.names():
                time.sleep(0.05)
        real(files, seen, key)

    monkeypatch.setattr(bucket_files.BucketFiles, "copy", copy)
    entries = entries_from(folder.lake, "beats", 0, 9)
    assert [(entry.file.name, entry.first) for entry in entries] == [("a", 0), ("a.0", 1)]
    clean(folder.place_of(feed), entries)
    keys = [f"in/{name}" for name in folder.names()] + [f"done/{one}" for one in folder.archived()]
    contents = {folder.get(key) for key in keys}
    assert contents == {b"of before\n", b'{"bpm": 1}\n', b'{"bpm": 2}\n'}


def test_a_file_that_a_bucket_does_not_copy_goes_through_this_machine(folder, monkeypatch):
    monkeypatch.setattr(bucket_files, "COPIED_BYTES", 1_000)
    monkeypatch.setattr(bucket_files, "_PIECE_BYTES", 700)
    content = b"".join(b'{"bpm": %d}\n' % number for number in range(1_000))
    folder.put_bytes("a", content)
    feed = folder.feed(**folder.leaving("archive"))
    read(folder.reader(feed))
    record(folder.lake, 1_000, 1)
    folder.server.asked()
    read(folder.reader(feed, start=1_000))
    assert not any("copy" in one[2] for one in folder.server.asked())
    assert (folder.names(), folder.archived()) == ([], ["a"])
    assert folder.get("done/a") == content


def test_a_bucket_that_is_away_keeps_files_from_counting_as_gone(folder):
    feed = folder.feed(**folder.leaving("delete"))
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    (entry,) = entries_from(folder.lake, "beats", 0, 9)
    away = folder.place_of(folder.feed(path="s3://no-such-bucket/in", delete=True))
    with pytest.raises(SourceNotFoundError):
        away.leave(entry, makes_archive=False)
    assert clean(away, [entry]) == 0
    with pytest.raises(SourceNotFoundError):
        list(read_part(away, Cut.of(feed), Part(entry=entry, start=0, end=1)))


def test_a_file_in_cold_storage_is_a_bad_one_and_stays_where_it_is(folder):
    put_cold(folder, "in/a", b"{}\n")
    folder.put("b", {"bpm": 1})
    feed = folder.feed(**folder.leaving("archive"))
    (_, value, problem), (name, *_) = told(read(folder.reader(feed)), "_file", "value", "_problem")
    assert (value, name) == (None, "b")
    assert "is in a class of storage that is not read" in problem
    assert clean(folder.place_of(feed), entries_from(folder.lake, "beats", 0, 9)) == 2
    assert (folder.names(), folder.archived()) == (["a"], ["b"])


def test_a_cold_file_in_the_archive_keeps_no_other_from_leaving(folder):
    """Nobody can tell whether it is the file's: one that came in parts has another tag there."""
    feed = folder.feed(**folder.leaving("archive"))
    folder.put_in_parts("a", b'{"bpm": 1}\n')
    read(folder.reader(feed))
    put_cold(folder, "done/a", b'{"bpm": 9}\n')
    (entry,) = entries_from(folder.lake, "beats", 0, 9)
    folder.place_of(feed).leave(entry, makes_archive=False)
    assert (folder.names(), folder.archived()) == ([], ["a", "a.0"])
    assert folder.get("done/a.0") == b'{"bpm": 1}\n'


def put_cold(folder, key, content):
    url = f"{folder.server.url}/{folder.bucket}/{key}"
    cold = {"x-amz-storage-class": "GLACIER"}
    answer = httpx.put(url, content=content, headers=cold, trust_env=False, timeout=60)
    answer.raise_for_status()


def test_a_mark_of_a_folder_between_names_in_order_is_passed_over(folder):
    """`2026/` is listed after `2026-01`, and as `2026`."""
    for name in ("2026-01", "2026-02"):
        folder.put(name, {"bpm": 1})
    put_mark(folder, "in/2026/")
    feed = folder.feed(discovery="ordered")
    assert read(folder.reader(feed))["_file"].to_pylist() == ["2026-01", "2026-02"]
    found = folder.place_of(feed).files_after("2026-02", 9)
    assert ([*found.files], found.is_last) == ([], True)


@pytest.mark.parametrize("discovery_", ["list", "ordered"])
def test_a_mark_of_a_folder_beside_a_file_of_its_name_is_no_change_of_that(folder, discovery_):
    for name in ("a", "a-b", "b"):
        folder.put(name, {"bpm": 1})
    put_mark(folder, "in/a/")
    feed = folder.feed(discovery=discovery_)
    for start in (0, 3):
        rows = read(folder.reader(feed, start=start))
        assert sorted(rows["_file"].to_pylist()) == ([] if start else ["a", "a-b", "b"])
    assert changes_in(folder.lake, "beats") == []
    assert not has_new_files(feed, folder.lake)
