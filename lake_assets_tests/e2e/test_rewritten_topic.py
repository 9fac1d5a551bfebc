"""A broker that lost rows and took others since: each offset is there again, and is another row."""

import shutil
from collections import Counter
from datetime import timedelta

import pytest

from lake_assets.errors import StreamError
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import source_of
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.e2e.test_gaps import FedLake
from lake_assets_tests.events import Topic
from lake_assets_tests.long_parameters import with_long

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]


class Broker:
    """One that no other test uses."""

    def __init__(self, home):
        self.settings = Settings(home=home, runtime=load_settings().runtime)
        self.endpoints = control.up(self.settings)

    def lose_rows(self, topic):
        """All that it has of a topic, as a disk does that power leaves with writes in its cache."""
        control.down(self.settings)
        folders = [path for path in self.settings.services_dir.rglob(f"{topic}-*") if path.is_dir()]
        assert folders
        for folder in folders:
            for path in folder.iterdir():
                if path.name != "partition.metadata":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert control.up(self.settings) == self.endpoints


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    made = Broker(tmp_path_factory.mktemp("broker"))
    yield made
    control.down(made.settings)


@pytest.fixture
def lake(spark, settings, broker):
    return FedLake(spark, settings, Topic(broker.endpoints))


@pytest.mark.parametrize("on_gap", with_long(["stop", "record"], long=["record"]))
def test_a_topic_that_was_rewritten_while_nobody_read_is_never_taken_for_the_former(
    lake, broker, on_gap
):
    feed, made = lake.feed(on_gap=on_gap), Counter(lake.produce(20))
    assert lake.catch_up(feed) is None
    broker.lose_rows(lake.topic.name)
    assert lake.catch_up(feed) is not None  # it ends before bronze does
    assert made - Counter(lake.produce(60)) == Counter()  # and has each of its offsets again
    failure = lake.catch_up(feed)
    assert isinstance(failure, StreamError)
    assert "lost rows that bronze has and gave their offsets to others" in str(failure)
    assert lake.bronze == lake.silver == made
    assert lake.gaps == Counter()


@pytest.mark.long
def test_a_restart_of_the_broker_changes_epochs_and_no_row(lake, broker):
    made = Counter(lake.produce(20))
    assert lake.catch_up() is None
    source = source_of(lake.feed(), broker.endpoints, lake_of(lake.settings))
    before = source.generation([lake.topic.name])
    control.down(broker.settings)
    control.up(broker.settings)
    # Nothing is known of a partition while it has no leader.
    wait_for(
        lambda: source.generation([lake.topic.name]).epochs.keys() == before.epochs.keys(),
        "a leader for each partition",
        within_s=120,
    )
    after = source.generation([lake.topic.name])
    assert after.identities == before.identities
    assert all(after.epochs[partition] > epoch for partition, epoch in before.epochs.items())
    made.update(lake.produce(20))
    assert lake.catch_up() is None
    assert lake.bronze == lake.silver == made


@pytest.mark.long
def test_a_topic_that_is_rewritten_under_the_stream_is_noticed_before_its_rows_come(lake, broker):
    """Between two looks of the streams, which see the topic go on."""
    made = Counter(lake.produce(20))
    feed = lake.feed().model_copy(update={"trigger": timedelta(seconds=60)})
    with lake.running(feed) as streams:
        wait_for(lambda: lake.silver == made, "the first rows", within_s=120)
        broker.lose_rows(lake.topic.name)
        lake.produce(60)
        wait_for(lambda: streams.failure, "the failure", within_s=240)
    assert isinstance(streams.failure, StreamError)
    assert lake.bronze == lake.silver == made
