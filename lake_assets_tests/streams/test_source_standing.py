import pytest

from lake_assets.errors import SourceError
from lake_assets.metrics.end_history import EndHistory
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.streams import source_standing as room
from lake_assets.streams.source_standing import SourceStanding, seconds_behind, source_standing
from lake_assets_tests.known_topic import NOWHERE, KnownTopic
from lake_assets_tests.sample import GAMES

TWO = SourceStanding(
    ends={("a", 0): 10, ("a", 1): 20, ("b", 0): 5},
    taken={("a", 0): 10, ("a", 1): 13, ("b", 0): 7},
    bronze_rows_behind=0,
)


def test_it_sums_over_partitions_of_all_or_of_some():
    assert TWO.names == ["a", "b"]
    assert (TWO.end(), TWO.rows_behind()) == (35, 7)
    assert (TWO.end(["a"]), TWO.position(["a"]), TWO.rows_behind(["a"])) == (30, 23, 7)


def test_what_came_after_the_source_was_asked_is_nothing_behind():
    assert TWO.rows_behind(["b"]) == 0


def test_seconds_are_those_since_the_first_row_that_is_not_taken():
    history = EndHistory()
    for at in (0.0, 10.0, 20.0):
        one = SourceStanding(ends={("a", 0): int(at)}, taken={("a", 0): 0}, bronze_rows_behind=0)
        behind = seconds_behind(history, one, at)
    assert behind == pytest.approx(19.0)
    again = EndHistory.of(history.kept)
    later = SourceStanding(ends={("a", 0): 30}, taken={("a", 0): 20}, bronze_rows_behind=0)
    assert seconds_behind(again, later, 30.0) == pytest.approx(9.0)


def test_rows_that_the_source_has_deleted_are_not_behind(settings, monkeypatch):
    """Of a lake that has nothing yet; a topic of a real broker is asked in `defs/test_observer`."""
    topic = KnownTopic(GAMES.source.kafka, {0: 100}, {0: 103})
    monkeypatch.setattr(room, "source_of", lambda *_: topic)
    found = source_standing(settings, GAMES, NOWHERE)
    assert (found.rows_behind(), found.bronze_rows_behind) == (3, 0)


def test_a_source_that_does_not_answer_is_unknown(settings):
    assert source_standing(settings, GAMES, None) is None
    with pytest.raises(SourceError):
        source_standing(settings, GAMES, NOWHERE)


@pytest.mark.parametrize(
    ("ends", "how"), [({0: 5}, "0 of t ends at offset 5"), ({0: 9, 2: 1}, "1 of t is not there")]
)
def test_a_topic_that_has_less_than_bronze_is_another(settings, monkeypatch, ends, how):
    topic = KafkaSource(topic="t")
    feed = GAMES.model_copy(update={"source": Source(kafka=topic)})
    monkeypatch.setattr(
        room, "source_of", lambda *_: KnownTopic(topic, dict.fromkeys(ends, 0), ends)
    )
    monkeypatch.setattr(room, "ingested_offsets", lambda *_: {("t", 0): 7, ("t", 1): 8})
    found = source_standing(settings, feed, NOWHERE)
    assert found.another_topic(feed).startswith(f"partition {how}, and bronze has its rows up to")


def test_of_a_topic_that_is_read_no_more_nothing_is_told(settings, monkeypatch):
    topic = KnownTopic(GAMES.source.kafka, {0: 0}, {0: 3})
    monkeypatch.setattr(room, "source_of", lambda *_: topic)
    monkeypatch.setattr(room, "ingested_offsets", lambda *_: {("old", 0): 7})
    assert source_standing(settings, GAMES, NOWHERE).another_topic(GAMES) == ""
