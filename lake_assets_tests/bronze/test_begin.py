"""Where ingest begins in several topics at once, by what bronze records and what there is."""

import logging

import pytest
from deltalake import DeltaTable

from lake_assets.bronze.ingest import Ingest
from lake_assets.delta.source_offsets import table_offsets
from lake_assets.errors import SourceNotFoundError, StreamError
from lake_assets.logs.gaps import recorded_gaps
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import bronze_of
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.known_topic import KnownTopic
from lake_assets_tests.sample import GAMES

A, B, C = ("game-a", 0), ("game-b", 0), ("game-c", 0)
NAMES = ["game-a", "game-b"]


@pytest.fixture
def started(settings):
    """A feed's ingest as a process that has just started has it."""
    with open_lake(settings) as context:

        def start(there, *, identities=None, **declared):
            source = KafkaSource(**declared)
            begins = {place: begin for place, (begin, _) in there.items()}
            ends = {place: end for place, (_, end) in there.items()}
            told = identities or {"game-a": 1, "game-b": 2, "game-c": 3}
            known = KnownTopic(source, begins, ends, told)
            feed = GAMES.model_copy(update={"source": Source(kafka=source)})
            return Ingest(feed=feed, source=known, context=context, report=lambda _: None)

        yield start


@pytest.fixture
def gaps(started, settings):  # noqa: ARG001 - the lake is open
    def recorded():
        with open_lake(settings) as context:
            return sorted(found.gap for found in recorded_gaps(context.lake, "games"))

    return recorded


def take(ingest, until):
    """Take offsets, none of which has a row."""
    ingest.prepare()
    ingest.pass_over(until, (), [])


BOTH = {A: (0, 9), B: (0, 9)}


def test_each_topic_begins_as_the_feed_says(started):
    starts = {"game-a": "latest", "game-b": {0: 4}}
    assert started(BOTH, topics=NAMES, starting_offsets=starts).prepare() == {A: 9, B: 4}


def test_an_offset_that_a_topic_lacks_is_told_with_its_name(started):
    with pytest.raises(StreamError, match="partition 0 of topic 'game-b': has the offsets 0 to 9"):
        started(BOTH, topics=NAMES, starting_offsets={"game-b": {0: 10}}).prepare()


def test_a_topic_that_becomes_several_goes_on_and_the_others_begin(started):
    take(started({A: (0, 9)}, topic="game-a"), {A: 5})
    assert started(BOTH, topics=NAMES).prepare() == {A: 5, B: 0}
    assert started(BOTH, topics="game-.*").prepare() == {A: 5, B: 0}


def test_a_topic_that_is_taken_out_and_added_again_goes_on_where_it_was(started):
    take(started(BOTH, topics=NAMES), {A: 5, B: 7})
    take(started(BOTH, topics=["game-a"]), {A: 6})
    assert started(BOTH, topics=NAMES, starting_offsets="latest").prepare() == {A: 6, B: 7}


@pytest.mark.parametrize("begin", [0, 3])
def test_a_topic_that_a_pattern_finds_later_is_read_from_its_beginning(started, gaps, begin):
    declared = {"topics": "game-.*", "starting_offsets": "latest"}
    assert started({A: (0, 9)}, **declared).prepare() == {A: 9}
    assert started({A: (0, 9), B: (begin, 9)}, **declared).prepare() == {A: 9, B: begin}
    assert gaps() == []


def test_a_pattern_that_found_nothing_when_the_feed_began_reads_all_that_comes(started, settings):
    declared = {"topics": "game-.*", "starting_offsets": "latest"}
    for _ in range(2):
        with pytest.raises(SourceNotFoundError):
            started({}, **declared).prepare()
    assert DeltaTable(settings.lake_dir / bronze_of("games").relative).version() == 1
    assert started({A: (0, 9)}, **declared).prepare() == {A: 0}


def test_a_topic_that_is_gone_stops_a_pattern_by_its_name_until_it_is_back(started):
    take(started(BOTH, topics="game-.*"), {A: 5, B: 7})
    told = "topic 'game-b': does not exist any more, and bronze has .* offset 7 of partition 0"
    with pytest.raises(SourceNotFoundError, match=told):
        started({A: (0, 9)}, topics="game-.*").prepare()
    assert started(BOTH, topics="game-.*").prepare() == {A: 5, B: 7}


@pytest.mark.parametrize("topics", ["game-.*", NAMES])
def test_the_others_go_on_without_one_that_is_gone_where_gaps_are_recorded(
    started, gaps, caplog, topics
):
    take(started(BOTH, topics=topics), {A: 5, B: 7})
    with caplog.at_level(logging.WARNING):
        alone = started({A: (0, 9)}, topics=topics, on_gap="record")
        take(alone, {A: 6})
    assert "topic 'game-b' is not there any more" in caplog.text
    assert started(BOTH, topics=topics).prepare() == {A: 6, B: 7}
    assert gaps() == []


def test_a_topic_that_the_others_did_not_wait_for_is_read_from_its_first_row(started, gaps):
    declared = {"topics": NAMES, "on_gap": "record", "starting_offsets": "latest"}
    assert started({A: (0, 9)}, **declared).prepare() == {A: 9}
    assert started({A: (0, 9), B: (3, 9)}, **declared).prepare() == {A: 9, B: 3}
    assert gaps() == [
        Gap(source="game-b", partition=0, offset_from=0, offset_to=3, reason=GapReason.DELETED)
    ]


def test_a_gap_in_one_topic_is_told_with_its_name_and_passed_alone(started, gaps):
    take(started(BOTH, topics=NAMES), {A: 5, B: 2})
    lost = {A: (0, 9), B: (4, 9)}
    with pytest.raises(StreamError, match="partition 0 of topic 'game-b': begins at offset 4"):
        started(lost, topics=NAMES).prepare()
    assert started(lost, topics=NAMES, on_gap="record").prepare() == {A: 5, B: 4}
    assert [(gap.source, gap.offset_from, gap.offset_to) for gap in gaps()] == [("game-b", 2, 4)]


def test_a_topic_that_was_made_again_is_told_with_its_name(started):
    take(started(BOTH, topics=NAMES), {A: 5, B: 2})
    made_again = {"game-a": 1, "game-b": 8}
    with pytest.raises(StreamError, match="topic 'game-b': is not the one that bronze has rows of"):
        started(BOTH, topics=NAMES, identities=made_again).prepare()
    with pytest.raises(StreamError, match=r"topic 'game-b'.* partition 0 has offset 0 again"):
        started(BOTH, topics=NAMES, identities=made_again, on_gap="record").prepare()
    later = {A: (0, 9), B: (6, 9)}
    again = started(later, topics=NAMES, identities=made_again, on_gap="record")
    assert again.prepare() == {A: 5, B: 6}


def test_a_topic_that_came_while_streams_ran_is_known_by_its_identity(started):
    first = started({A: (0, 9)}, topics="game-.*")
    take(first, {A: 5})
    first.pass_over({A: 6, C: 2}, (), [])
    there = {A: (0, 9), C: (0, 9)}
    assert started(there, topics="game-.*").prepare() == {A: 6, C: 2}
    with pytest.raises(StreamError, match="topic 'game-c': is not the one"):
        started(there, topics="game-.*", identities={"game-a": 1, "game-c": 9}).prepare()


def test_rows_of_a_topic_that_was_deleted_meanwhile_are_not_committed(started, settings):
    ingest = started(BOTH, topics=NAMES)
    ingest.prepare()
    del ingest.source.told_identity["game-b"]
    with pytest.raises(SourceNotFoundError, match="topic 'game-b': was deleted while it was read"):
        ingest.pass_over({A: 5, B: 7}, (), [])
    with open_lake(settings) as context:
        handle = context.committer.fresh(bronze_of("games"))
        assert table_offsets(handle, "kafka", "game-a") == {A: 0}
