from dataclasses import replace

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch, Commit
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.reports import Span
from lake_assets.model.tables import bronze_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.local import LocalStore
from lake_assets.streams.lag import Lags
from lake_assets_tests.events import Topic
from lake_assets_tests.logs.reports import demuxed, ingested
from lake_assets_tests.sample import GAMES

NOBODY = Endpoints(kafka="127.0.0.1:1", registry="http://127.0.0.1:1")


class Clock:
    """Time that stands still unless it is moved."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def bronze(settings):
    """Adds commits of so many rows each, by their logs alone."""
    with open_lake(settings) as context:
        context.committer.create({bronze_of("games"): pa.schema([("value", pa.binary())])})

        def add(*rows):
            for count in rows:
                version = context.committer.fresh(bronze_of("games")).version()
                commit = Commit(table=bronze_of("games"), files=[], info={"rows": str(count)})
                context.committer.append([commit], Batch("query", version))

        yield add


def test_demux_is_behind_by_the_rows_of_later_versions(settings, bronze, clock):
    bronze(3, 4, 5)
    lags = Lags(LocalStore.at(settings.lake_dir), NOBODY, clock)
    assert lags.of(demuxed(0), GAMES) == 12
    assert lags.of(demuxed(2), GAMES) == 5
    assert lags.of(demuxed(3), GAMES) == 0


def test_a_batch_between_two_looks_has_no_known_lag(settings, bronze):
    bronze(3, 4)
    # A look from 0 s to 1 s, so that the next is due at 20 s.
    times = iter([0.0, 1.0, 19.0, 21.0, 21.0])
    lags = Lags(LocalStore.at(settings.lake_dir), NOBODY, lambda: next(times))
    assert lags.of(demuxed(0), GAMES) == 7
    assert lags.of(demuxed(1), GAMES) is None
    assert lags.of(demuxed(1), GAMES) == 4


def test_a_broker_that_is_silent_leaves_the_lag_unknown(settings, clock):
    silent = replace(NOBODY, kafka_options={"socket.connection.setup.timeout.ms": "1000"})
    lags = Lags(LocalStore.at(settings.lake_dir), silent, clock)
    assert lags.of(ingested(0), GAMES) is None


def test_a_refused_batch_and_one_without_a_place_have_no_lag(settings, clock):
    lags = Lags(LocalStore.at(settings.lake_dir), NOBODY, clock)
    assert lags.of(demuxed(0, is_committed=False), GAMES) is None
    assert lags.of(replace(demuxed(0), span=None), GAMES) is None


@pytest.mark.kafka
def test_ingest_is_behind_by_what_the_topic_has_more(settings, services, clock):
    topic = Topic(services)
    topic.produce(*[b"x"] * 7)
    lags = Lags(LocalStore.at(settings.lake_dir), services, clock)
    none = replace(ingested(0), span=Span(query="i"))
    assert lags.of(none, topic.feed()) == 7
    topic.produce(b"x")
    assert lags.of(none, topic.feed()) == 7
    clock.now += 5
    assert lags.of(none, topic.feed()) == 8
