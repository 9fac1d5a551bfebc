"""The whole way of a feed whose files are in a bucket, as docs/files.md has it."""

import logging
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lake_assets.errors import SourceError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.services.file_findings import look_at_files
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.run_need import is_run_needed
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.known_topic import NOWHERE
from lake_assets_tests.sources.files.buckets import KEY, KEY_ID, Bucketed
from lake_assets_tests.streamed_lake import StreamedLake

pytestmark = pytest.mark.spark

DOCS = Path(__file__).parents[2] / "docs"

HUSH = "hush-hush-hush"


@dataclass(kw_only=True)
class BucketLake(StreamedLake):
    """A feed's lake, and the bucket that it reads."""

    files: Bucketed

    def sorted(self, table, *columns):
        return sorted(self.rows(table, *columns))

    @property
    def silver(self):
        return self.sorted(self.feed.silver_table("beats"), "bpm", "_file", "_row")


@pytest.fixture
def lake(spark, settings, tmp_path, s3, bucket, monkeypatch):
    for name in (KEY_ID, KEY):
        monkeypatch.setenv(name, HUSH)
    files = Bucketed(tmp_path, server=s3, bucket=bucket)
    feed = files.feed(Payload(json_=JsonPayload(ddl="bpm int")), **files.leaving("archive"))
    return BucketLake(spark=spark, settings=settings, feed=feed, files=files)


def test_files_of_a_bucket_are_read_once_and_nobody_is_shown_the_key(lake, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    lake.files.put("a", {"bpm": 1}, b"no json")
    lake.files.put_bytes("bad.gz", b"no gzip")
    assert is_run_needed(lake.settings, lake.feed, NOWHERE)
    assert lake.stream() is None
    assert lake.silver == [(1, "a", 1)]
    bad = lake.sorted(quarantine_of("beats"), "_file", "_row", "reason")
    assert bad == [("a", 2, "undecodable"), ("bad.gz", 1, "bad_file")]
    lake.files.put("b", {"bpm": 2})
    lake.files.server.refuse("GET", f"/{lake.files.bucket}", "ExpiredToken", status=400)
    try:
        failure = lake.stream()
    finally:
        lake.files.server.forgive()
    assert isinstance(failure, SourceError)
    assert "the store refuses our credentials (ExpiredToken)" in str(failure)
    assert lake.stream() is None
    assert lake.stream() is None
    assert lake.silver == [(1, "a", 1), (2, "b", 1)]
    assert (lake.files.names(), lake.files.archived()) == ([], ["a", "b", "bad.gz"])
    assert not is_run_needed(lake.settings, lake.feed, NOWHERE)
    assert lake.sorted(bronze_of("beats"), "ordinal") == [(0,), (1,), (2,), (3,)]
    lake.files.put("a", {"bpm": 1})
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert lake.silver == [(1, "a", 1), (2, "b", 1)]
    assert HUSH not in caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path for path in files if HUSH.encode() in path.read_bytes()] == []


@pytest.mark.long
def test_a_refusal_in_the_midst_of_a_batch_is_told_and_the_batch_read_again(lake):
    lake.files.put_bytes("a", b'{"bpm": 1}\n' * 100_000)  # which tasks look at first
    lake.files.server.refuse("HEAD", f"/{lake.files.bucket}/in/a", "AccessDenied")
    try:
        failure = lake.stream()
    finally:
        lake.files.server.forgive()
    assert "refuses our credentials" in str(failure)
    assert HUSH not in str(failure)
    assert lake.stream() is None
    assert len(lake.silver) == 100_000
    assert lake.sorted(quarantine_of("beats"), "_file") == []


def test_the_page_s_example_runs(settings, tmp_path, s3, monkeypatch):
    text = (DOCS / "files.md").read_text().split("## Buckets\n", 1)[1]
    declared, program = (
        re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)[0] for kind in ("yaml", "python")
    )
    folder = tmp_path / "feeds"
    folder.mkdir()
    (folder / "beats.yaml").write_text(declared.replace("http://127.0.0.1:5000", s3.url))
    load_feeds(folder)
    subprocess.run(  # noqa: S603 - the page's own program
        [sys.executable, "-c", program.replace("http://127.0.0.1:5000", s3.url)], check=True
    )
    for name in ("BEATS_KEY_ID", "BEATS_KEY"):
        monkeypatch.setenv(name, "test")
    settings = settings.model_copy(update={"feeds": folder})
    for _ in range(2):
        streamed = lake_assets_here(settings, "stream", "--feed", "beats", "--until-caught-up")
        assert streamed.returncode == 0, streamed.stderr
    (feed,) = load_feeds(folder)
    lake = StreamedLake(spark=None, settings=settings, feed=feed)
    assert sorted(lake.rows(feed.silver_table("beats"), "_file", "_row", "bpm")) == [
        ("monday.jsonl", 1, 61),
        ("monday.jsonl", 2, None),
    ]
    assert lake.rows(quarantine_of("beats"), "_file", "_row") == [("monday.jsonl", 3)]
    assert s3.keys("landing") == ["beats-done/monday.jsonl"]
    assert [finding.fact for finding in look_at_files(settings)] == [
        "s3://landing/beats/*.jsonl: 1 found"
    ]
