"""Old files that go into the tables of a feed which reads a topic: each row once, told apart."""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.flows import with_targets
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.origins import Origin
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import duplicates_of, quarantine_of
from lake_assets.streams.trace import trace
from lake_assets_tests.e2e.dying import EACH_POINT, KilledError, doomed
from lake_assets_tests.events import AT, Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

OLD = "old_games"

COLUMNS = "game_name string, gamer_id string, event_timestamp timestamp"

IDENTITY = ("_feed", "_topic", "_partition", "_offset")


@dataclass
class LakeWithFiles(StreamedLake):
    """A lake whose feed `games` reads a topic; `old_games` reads files into its tables."""

    known: int = 0
    deduplicate: Deduplicate | None = None
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
            payload=Payload(json_=JsonPayload(ddl=COLUMNS)),
        )
        declared = with_targets([self.topic.feed(deduplicate=self.deduplicate), old])
        return {feed.feed: feed.beside(declared) for feed in declared}

    def produce(self, *keys):
        return self.topic.produce(*(framed(self.known, key, gamer="live") for key in keys))

    def put(self, name, *keys):
        rows = [json.dumps({"game_name": key, "gamer_id": name}) for key in keys]
        (self.folder_of_files / name).write_text("".join(f"{row}\n" for row in rows))

    def put_events(self, name, *gamers):
        """Events of `uno`, when all events are that do not say otherwise."""
        row = {"game_name": "uno", "event_timestamp": AT.isoformat()}
        rows = [json.dumps({**row, "gamer_id": gamer}) for gamer in gamers]
        (self.folder_of_files / name).write_text("".join(f"{row}\n" for row in rows))

    def produce_events(self, *gamers):
        return self.topic.produce(*(framed(self.known, "uno", gamer=one) for one in gamers))

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


@pytest.mark.long
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


@pytest.mark.parametrize("point", EACH_POINT)
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


ONCE = Deduplicate(key=("gamer_id",), within=timedelta(hours=1), time="event_timestamp")


@pytest.mark.long
def test_an_event_of_the_files_and_of_the_topic_is_there_once(lake):
    lake = replace(lake, deduplicate=ONCE)
    ((partition, offset),) = lake.produce_events("ann")
    lake.stream_all()
    lake.put_events("a.jsonl", "ann", "bob", "bob")
    lake.stream_all()
    lake.produce_events("bob", "cid")
    lake.stream_all()
    once = Counter([("games", "ann"), (OLD, "bob"), ("games", "cid")])
    assert lake.rows("uno", "_feed", "gamer_id") == once
    gone = DeltaTable(lake.folder(duplicates_of(OLD))).to_pyarrow_table().sort_by("_row")
    named = ("_row", "first_topic", "first_partition", "first_offset", "first_feed")
    assert [tuple(row[name] for name in named) for row in gone.to_pylist()] == [
        (1, lake.topic.name, partition, offset, "games"),
        (3, "files", 0, 1, OLD),
    ]
    feeds = lake.feeds()
    told = trace(lake.settings, feeds[OLD], Origin("files", 0, 0), None)
    assert (
        told.words == f"a duplicate of {lake.topic.name}/{partition}/{offset} of feed games, "
        "which stays"
    )
    for feed in feeds.values():  # what silver had stays, whoever is derived again
        with lake.redo(feed) as redo:
            lake.rebuild_with(redo)
        assert lake.rows("uno", "_feed", "gamer_id") == once, feed.feed


@pytest.mark.long
def test_rows_that_a_dead_backfill_had_noted_are_known_to_the_topic(lake):
    lake = replace(lake, deduplicate=ONCE)
    lake.produce_events("ann")
    lake.stream_all()
    lake.put_events("a.jsonl", "bob")
    feeds = lake.feeds()
    lake.ingest(feeds[OLD])
    with pytest.raises(KilledError):
        replace(lake, kind=doomed("before")).demux(feeds[OLD])
    lake.produce_events("bob")
    lake.stream(feeds["games"])
    lake.stream(feeds[OLD])
    assert lake.rows("uno", "_feed", "gamer_id") == Counter([("games", "ann"), (OLD, "bob")])
