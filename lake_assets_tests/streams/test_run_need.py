from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import bronze_of
from lake_assets.streams.run_need import is_run_needed
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.first_run import begin
from lake_assets_tests.sample import GAMES, silver_of

ROW = pa.table({"gamer_id": ["a"]})

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(services):
    found = Topic(services)
    found.produce()
    return found


def test_a_topic_without_a_row_needs_no_run_once_its_begin_is_recorded(connected, services, topic):
    assert is_run_needed(connected, topic.feed(), services)
    begin(connected, topic.feed(), services)
    assert not is_run_needed(connected, topic.feed(), services)


def test_rows_that_come_after_the_first_tick_are_none_of_those_before_latest(
    connected, services, topic
):
    source = Source(kafka=KafkaSource(topic=topic.name, starting_offsets="latest"))
    feed = topic.feed(source=source)
    assert is_run_needed(connected, feed, services)
    begin(connected, feed, services)
    topic.produce(framed(0))
    assert is_run_needed(connected, feed, services)
    assert set(begin(connected, feed, services).values()) == {0}


def test_a_topic_that_a_pattern_finds_later_needs_a_run(connected, services, topic):
    pattern = Source(kafka=KafkaSource(topics=f"{topic.name}.*"))
    feed = topic.feed(source=pattern)
    begin(connected, feed, services)
    assert not is_run_needed(connected, feed, services)
    Topic(services, name=f"{topic.name}-b").produce()
    assert is_run_needed(connected, feed, services)


def test_rows_need_one(connected, services, topic):
    topic.produce(framed(0))
    assert is_run_needed(connected, topic.feed(), services)


def test_what_nobody_can_tell_needs_one(connected, services):
    nowhere = Topic(services).feed()
    assert is_run_needed(connected, nowhere, services)
    assert is_run_needed(connected, nowhere, None)


def test_live_views_that_silver_is_ahead_of_need_one_and_others_do_not(connected, services, topic):
    write_deltalake(connected.lake_dir / silver_of("uno").relative, ROW)
    view = GAMES.gold[0]
    live = view.model_copy(update={"refresh": timedelta(0)})
    begin(connected, topic.feed(), services)
    assert is_run_needed(connected, topic.feed(gold=(live,)), services)
    assert not is_run_needed(connected, topic.feed(gold=(view,)), services)


def test_live_views_of_the_feed_whose_tables_it_fills_need_one(connected, services, topic):
    write_deltalake(connected.lake_dir / silver_of("uno").relative, ROW)
    live = GAMES.gold[0].model_copy(update={"refresh": timedelta(0)})
    own = {"feed": "twin", "into": "games", "gold": ()}
    begin(connected, topic.feed(**own), services)
    for gold, is_needed in (((live,), True), ((GAMES.gold[0],), False)):
        twin = topic.feed(**own).beside([topic.feed(gold=gold)])
        assert is_run_needed(connected, twin, services) == is_needed


def test_rows_of_bronze_that_are_not_in_silver_need_one(connected, services, topic):
    path = connected.lake_dir / bronze_of("games").relative
    write_deltalake(path, pa.table({"value": [b"a"]}))
    assert is_run_needed(connected, topic.feed(), services)
