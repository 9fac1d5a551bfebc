"""The whole way of a feed whose rows are in a Kinesis stream."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.bronze.ingest import Ingest
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.run_need import is_run_needed
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.known_topic import NOWHERE
from lake_assets_tests.sources.kinesis.streams import KEYS, DataStream, running_kinesis
from lake_assets_tests.streamed_lake import StreamedLake

pytestmark = pytest.mark.spark


@dataclass(kw_only=True)
class PlayLake(StreamedLake):
    """A feed's lake, streamed now and then, and the stream that it reads."""

    stream_: DataStream

    @property
    def silver(self):
        table = self.feed.silver_table("play")
        return [one for (one,) in sorted(self.rows(table, "n"))]


@pytest.fixture(scope="module")
def streams():
    with running_kinesis() as made:
        yield made


@pytest.fixture
def lake(spark, settings, streams, monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value.get_secret_value())
    stream = streams().create()
    feed = Feed(
        feed="play",
        source=Source(kinesis=stream.source(on_gap="record")),
        payload=Payload(json_=JsonPayload(ddl="n bigint")),
    )
    two = settings.stream.model_copy(update={"max_rows_per_batch": 2})
    settings = settings.model_copy(update={"stream": two})
    return PlayLake(spark=spark, settings=settings, stream_=stream, feed=feed)


def _put(stream, *numbers, half=0):
    stream.put(*({"n": number} for number in numbers), half=half)


class KilledError(Exception):
    """What a test raises in place of a kill."""


def test_rows_come_once_through_split_merge_and_a_death_before_bronze(lake, monkeypatch):
    stream = lake.stream_
    _put(stream, 1, 2, 3)
    stream.split(0)
    _put(stream, 4, half=0)
    _put(stream, 5, half=1)
    commit = Ingest.commit

    def die_later(ingest, landed, until, *, job_s):
        if until[stream.name, 0] > 2:
            raise KilledError
        return commit(ingest, landed, until, job_s=job_s)

    with monkeypatch.context() as patch:
        patch.setattr("lake_assets.bronze.ingest.Ingest.commit", die_later)
        assert lake.stream() is not None
    assert len(lake.rows(bronze_of("play"), "ordinal")) == 2
    stream.merge(1, 2)
    _put(stream, 6, half=1)
    assert lake.stream() is None
    assert lake.silver == [1, 2, 3, 4, 5, 6]
    assert is_run_needed(lake.settings, lake.feed, NOWHERE) is False
    _put(stream, 7)
    assert is_run_needed(lake.settings, lake.feed, NOWHERE) is True

    stream.forward(hours=25)  # nothing has 7 any more
    stream.put(b"{")
    assert lake.stream() is None
    refused = lake.rows(quarantine_of("play"), "reason", "_shard_id", "value")
    assert sorted((reason, value) for reason, _, value in refused if value is None) == [
        ("bad_file", None)
    ]
    assert b"{" in [value for *_, value in refused]
    assert {shard for _, shard, _ in refused} == {"shardId-000000000003"}
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    assert lake.silver == [1, 2, 3, 4, 5, 6]


PAGE = (Path(__file__).parents[2] / "docs" / "kinesis.md").read_text()


@pytest.mark.long
def test_the_page_does_what_it_says(streams, settings, tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    here = PAGE.replace("http://127.0.0.1:5000", streams().url)
    blocks = {
        language: re.findall(rf"```{language}\n(.*?)```", here, re.DOTALL)
        for language in ("yaml", "python", "sh")
    }
    (feed,), (program,), (command,) = blocks.values()
    # The test's JVM is older than these variables, and Spark's processes have its environment.
    who = "access_key: {id: {env: AWS_ACCESS_KEY_ID}, secret: {env: AWS_SECRET_ACCESS_KEY}}"
    (tmp_path / "play.yaml").write_text(feed.replace("    region:", f"    {who}\n    region:"))
    exec(program, {})  # noqa: S102 - the page's own
    settings = settings.model_copy(update={"feeds": tmp_path})
    done = lake_assets_here(settings, *command.split()[1:])
    assert done.returncode == 0, done.stderr
    table = find_feed(load_feeds(tmp_path), "play").silver_table("play")
    rows = DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()
    assert sorted((row["player"], row["points"]) for row in rows) == [
        ("ann", 3),
        ("ann", 10),
        ("bob", 7),
    ]
