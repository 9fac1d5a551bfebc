import logging

import pytest

from lake_assets.errors import SourceError
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets.settings.schema import KafkaSettings
from lake_assets.streams.group_commits import GroupCommits, flush_all, keep_group_commits
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.places import t
from lake_assets_tests.sources.kafka.test_group_offsets import committed
from lake_assets_tests.streams.lakes import StreamedLake


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Group:
    """Takes what it is told, unless it refuses."""

    def __init__(self):
        self.told, self.refusal = [], ""

    def commit(self, offsets, **_):
        if self.refusal:
            raise SourceError("group", self.refusal, "Grant it")
        self.told.append(dict(offsets))


@pytest.fixture
def group():
    return Group()


@pytest.fixture
def commits(group):
    return GroupCommits(tools=group, clock=Clock())


def pass_by(commits, seconds):
    commits.clock.now += seconds
    commits.tick()


def test_nothing_is_told_of_a_feed_that_has_nothing(commits, group):
    commits.tick()
    assert group.told == []


def test_what_is_new_is_told_and_then_no_more_often_than_each_five_seconds(commits, group):
    commits.note(t({0: 1}))
    commits.tick()
    commits.note(t({0: 2}))
    pass_by(commits, 4.9)
    assert group.told == [t({0: 1})]
    commits.note(t({0: 3}))
    pass_by(commits, 0.1)
    assert group.told == [t({0: 1}), t({0: 3})]


def test_the_same_offsets_are_told_again_before_brokers_forget_them(commits, group):
    commits.note(t({0: 1}))
    commits.tick()
    pass_by(commits, 600)
    assert len(group.told) == 1
    pass_by(commits, 3_600)
    assert group.told == [t({0: 1}), t({0: 1})]


def test_a_refusal_is_told_once_and_tried_again_after_a_minute(commits, group, caplog):
    group.refusal = "no right"
    commits.note(t({0: 1}))
    commits.tick()
    for _ in range(3):
        pass_by(commits, 60)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    group.refusal = ""
    pass_by(commits, 59)
    assert group.told == []
    pass_by(commits, 1)
    assert group.told == [t({0: 1})]


def test_what_is_new_is_told_at_the_end_whenever_it_last_was(commits, group):
    commits.note(t({0: 1}))
    commits.tick()
    commits.note(t({0: 2}))
    commits.flush()
    assert group.told == [t({0: 1}), t({0: 2})]


def test_brokers_that_are_down_keep_the_end_waiting_once_and_not_once_a_feed():
    clock, asked = Clock(), []

    class Hanging:
        def commit(self, offsets, *, timeout_s):
            asked.append(offsets)
            clock.now += timeout_s
            raise SourceError("group", "does not answer", "Wait")

    feeds = [GroupCommits(tools=Hanging(), clock=clock) for _ in range(5)]
    for commits in feeds:
        commits.note(t({0: 1}))
    flush_all(feeds, clock)
    assert len(asked) == 1


def report(feed, offsets):
    span = Span(query="q", offsets_to=offsets)
    return BatchReport(feed=feed.feed, stage=Stage.INGEST, batch_id=2, rows={}, span=span)


@pytest.mark.kafka
def test_kafka_s_own_tools_see_the_offsets_of_batches_in_a_group_of_the_feed(services, settings):
    topic = Topic(services)
    topic.produce(b"a", b"b", b"c")
    feed = topic.feed(feed=f"feed_{topic.name[-8:]}")
    with keep_group_commits(settings, [feed], services) as note:
        note(report(feed, topic.at({0: 1, 1: 2})))
    assert committed(services, f"lake_assets-{feed.feed}") == topic.at({0: 1, 1: 2})


@pytest.mark.kafka
def test_a_feed_without_a_batch_is_told_as_bronze_has_it(spark, services, settings):
    topic = Topic(services)
    places = topic.produce(*[framed(topic.register(0))] * 3)
    lake = StreamedLake(spark, settings, topic)
    feed = topic.feed(feed=f"feed_{topic.name[-8:]}")
    lake.ingest(feed)
    with keep_group_commits(settings, [feed], services):
        pass
    assert sum(committed(services, f"lake_assets-{feed.feed}").values()) == len(places)


@pytest.mark.kafka
def test_who_turns_it_off_has_no_group(services, settings):
    topic = Topic(services)
    topic.produce(b"a")
    feed = topic.feed(feed=f"feed_{topic.name[-8:]}")
    off = settings.model_copy(update={"kafka": KafkaSettings(commit_offsets=False)})
    with keep_group_commits(off, [feed], services) as note:
        note(report(feed, topic.at({0: 1})))
    assert committed(services, f"lake_assets-{feed.feed}") == {}
