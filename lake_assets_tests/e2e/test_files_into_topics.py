"""Old files that go into the tables of a feed which reads a topic: each row once, told apart."""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.flows import with_targets
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.origins import Origin
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import quarantine_of
from lake_assets.streams.trace import trace
from lake_assets_tests.e2e.dying import POINTS, KilledError, doomed
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

OLD = "old_games"

IDENTITY = ("_feed", "_topic", "_partition", "_offset")


@dataclass
class LakeWithFiles(StreamedLake):
    """A lake whose feed `games` reads a topic; `old_games` reads files into its tables."""

    known: int = 0
    folder_of_files: Path = field(default_factory=Path)

    def feeds(self):
        """By name, each knowing the other."""
        files = FilesSource(
            path=str(self.folder_of_files),
            format="jsonl",
            settle=timedelta(0),
            pattern="**/*.jsonl",
        )
        old = Feed(
            feed=OLD,
            into="games",
            source=Source(files=files),
            payload=Payload(json_=JsonPayload(ddl="game_name string, gamer_id string")),
        )
        declared = with_targets([self.topic.feed(), old])
        return {feed.feed: feed.beside(declared) for feed in declared}

    def produce(self, *keys):
        return self.topic.produce(*(framed(self.known, key, gamer="live") for key in keys))

    def put(self, name, *keys):
        rows = [json.dumps({"game_name": key, "gamer_id": name}) for key in keys]
        (self.folder_of_files / name).write_text("".join(f"{row}\n" for row in rows))

    def rows(self, key, *columns):
        rows = DeltaTable(self.folder(silver_of(key))).to_pyarrow_table()
        return Counter(zip(*(rows[name].to_pylist() for name in columns), strict=True))

    def stream_all(self):
        for feed in self.feeds().values():
            self.stream(feed)


@pytest.fixture
def lake(spark, services, settings, tmp_path):
    topic, folder = Topic(services), tmp_path / "old"
    folder.mkdir()
    known = topic.register(0)
    return LakeWithFiles(spark, settings, topic, known=known, folder_of_files=folder)


def test_rows_of_files_are_beside_those_of_the_topic_whatever_is_done_to_either(lake):
    ((partition, offset),) = lake.produce("uno")
    lake.stream(lake.topic.feed())
    lake.put("a.jsonl", "uno", "chess", "go_fish", "uno")
    lake.stream_all()
    live = ("games", lake.topic.name, partition, offset)
    old = [(OLD, "files", 0, 0), (OLD, "files", 0, 3)]
    # The row from before there were files names nobody: it is of the feed that has the tables.
    expected = Counter([(None, *live[1:]), *old])
    assert lake.rows("uno", *IDENTITY) == expected
    assert lake.rows("uno", "_feed", "_file", "_row") == Counter(
        [(None, None, None), (OLD, "a.jsonl", 1), (OLD, "a.jsonl", 4)]
    )
    refused = DeltaTable(lake.folder(quarantine_of(OLD))).to_pyarrow_table().to_pylist()
    assert [(row["_file"], row["_row"], row["reason"]) for row in refused] == [
        ("a.jsonl", 2, "unknown_key")
    ]
    found = trace(lake.settings, lake.feeds()[OLD], Origin("files", 0, 3), None)
    assert [place.key for place in found.places] == [None, "uno"]
    for name, feed in lake.feeds().items():
        with lake.redo(feed) as redo:
            lake.rebuild_with(redo)
        whose = [(name if name == "games" else None, *live[1:]) for name in ("games",)]
        assert lake.rows("uno", *IDENTITY) == Counter([*whose, *old]), name
    lake.put("b.jsonl", "go_fish")
    lake.stream_all()
    lake.stream_all()
    assert lake.rows("go_fish", *IDENTITY) == Counter([(OLD, "files", 0, 2), (OLD, "files", 0, 4)])
    lake.produce("uno")
    alone = lake.topic.feed()  # the declaration of the files is taken away
    lake.stream(alone)
    with lake.redo(alone) as redo:
        lake.rebuild_with(redo)
    assert sum(lake.rows("uno", *IDENTITY).values()) == 4


@pytest.mark.parametrize("point", POINTS)
def test_a_backfill_that_dies_goes_on_where_it_was(lake, point):
    lake.produce("uno")
    lake.put("a.jsonl", "uno", "go_fish")
    lake.stream_all()
    lake.put("b.jsonl", "uno", "go_fish")
    feeds = lake.feeds()
    lake.ingest(feeds[OLD])
    with pytest.raises(KilledError):
        replace(lake, kind=doomed(point)).demux(feeds[OLD])
    lake.produce("uno")
    lake.stream(feeds["games"])
    lake.stream(feeds[OLD])
    both = lake.rows("uno", "_feed") + lake.rows("go_fish", "_feed")
    assert both == Counter({("games",): 2, (OLD,): 4})
