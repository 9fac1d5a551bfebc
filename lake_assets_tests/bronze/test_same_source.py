"""Which source it is, and whether its rows are those of before: by what a topic tells."""

import pytest

from lake_assets.bronze.same_source import SameSource
from lake_assets.errors import StreamError
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.sources.base import Generation
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.delta.test_newest_rows import Bronze, micros
from lake_assets_tests.known_topic import known_topic
from lake_assets_tests.places import t
from lake_assets_tests.sample import GAMES

FEED = GAMES.model_copy(update={"source": Source(kafka=KafkaSource(topic="t"))})
EPOCHS = t({0: 4, 1: 9})


@pytest.fixture
def bronze(settings):
    made = Bronze(settings.lake_dir)
    made.put((0, 8), (0, 9), (1, 3))
    yield made
    made.committer.close()


@pytest.fixture
def topic():
    """Has the rows that bronze has, and more."""
    made = known_topic("t", t({0: 0, 1: 0}), t({0: 50, 1: 50}), identity=7)
    made.epochs = EPOCHS
    made.row_times = {(partition, o): micros(o) for partition in (0, 1) for o in range(50)}
    return made


@pytest.fixture
def same(bronze, topic, settings):  # noqa: ARG001 - bronze is there
    with open_lake(settings) as context:
        yield SameSource(feed=FEED, source=topic, context=context)


HAVE = t({0: 10, 1: 4})


def rewrite(topic, partition, since):
    """As a broker that lost rows and took others: their offsets mean other rows."""
    later = 3_600_000_000
    topic.row_times |= {(partition, o): micros(o) + later for o in range(since, 50)}


def test_the_same_rows_are_the_same_source(same, topic):
    same.begin(topic.generation(["t"]), HAVE)
    same.ensure(HAVE, HAVE)


@pytest.mark.parametrize("partition", [0, 1])
def test_another_row_in_place_of_bronze_s_last_one_stops_the_start(same, topic, partition):
    rewrite(topic, partition, 3)
    with pytest.raises(StreamError) as stopped:
        same.begin(topic.generation(["t"]), HAVE)
    told = str(stopped.value)
    assert told.startswith(f"partition {partition} of topic 't': has a row of 2026-11-20 01:00:00")
    assert f"at offset {[9, 3][partition]}, where bronze has one of 2026-11-20 00:00:00.0" in told


def test_rows_behind_bronze_s_may_be_any(same, topic):
    rewrite(topic, 0, 10)
    same.begin(topic.generation(["t"]), HAVE)


@pytest.mark.parametrize("gone", [[(0, 9)], [(0, 9), (1, 3)]])
def test_a_row_that_the_topic_has_no_more_says_nothing(same, topic, gone):
    """Retention passed it, compaction took it, or its time was never told."""
    for place in gone:
        del topic.row_times[place]
    same.begin(topic.generation(["t"]), HAVE)


def test_a_source_that_is_another_has_no_row_to_compare(same, topic):
    rewrite(topic, 0, 0)
    same.begin(topic.generation(["t"]), {})


def test_a_partition_without_a_new_epoch_is_not_asked_for_rows(same, topic):
    same.begin(topic.generation(["t"]), HAVE)
    rewrite(topic, 0, 0)
    same.ensure(HAVE, HAVE)


def test_a_new_leader_that_has_other_rows_stops_the_batch(same, topic):
    same.begin(topic.generation(["t"]), HAVE)
    same.ensure(HAVE, HAVE)
    rewrite(topic, 0, 9)
    topic.epochs = {**EPOCHS, 0: 5}
    with pytest.raises(StreamError, match=r"partition 0 .* has a row of .* at offset 9"):
        same.ensure(HAVE, HAVE)


@pytest.mark.parametrize("epochs", [t({0: 5, 1: 9}), t({1: 9}), t({0: 4, 1: 9, 2: 0})])
def test_what_was_read_while_a_leader_changed_is_looked_at_with_the_next_batch(
    same, topic, bronze, epochs
):
    same.begin(topic.generation(["t"]), HAVE)
    topic.epochs = epochs
    same.ensure(
        HAVE, HAVE
    )  # the rows before are the same; those in hand were read of either leader
    bronze.put((0, 10), (0, 11))
    rewrite(topic, 0, 11)
    with pytest.raises(StreamError, match="at offset 11"):
        same.ensure(t({0: 12, 1: 4}), {})


def test_a_leader_that_has_the_same_rows_is_forgotten_about(same, topic):
    same.begin(topic.generation(["t"]), HAVE)
    topic.epochs = {**EPOCHS, 0: 5}
    same.ensure(HAVE, HAVE)
    same.ensure(HAVE, HAVE)
    rewrite(topic, 0, 0)
    same.ensure(HAVE, HAVE)  # nobody asked for rows, since nothing can have changed


def test_a_topic_of_another_id_is_another(same, topic, monkeypatch):
    same.begin(topic.generation(["t"]), HAVE)
    monkeypatch.setattr(
        topic,
        "generation",
        lambda names: Generation(identities=dict.fromkeys(names, 8), epochs=EPOCHS),
    )
    with pytest.raises(StreamError, match="created again"):
        same.ensure(HAVE, HAVE)


def test_times_are_told_to_the_millisecond(same, topic):
    topic.row_times[(0, 9)] = micros(9) + 1_000
    with pytest.raises(StreamError, match=r"00\.010 UTC at offset 9, .* 00:00:00\.009 UTC"):
        same.begin(topic.generation(["t"]), HAVE)


def test_a_time_that_is_in_no_calendar_is_told_as_a_number(same, topic):
    topic.row_times[(0, 9)] = 2**62
    with pytest.raises(StreamError, match="has a row of 4611686018427387904 µs since 1970 at offs"):
        same.begin(topic.generation(["t"]), HAVE)
