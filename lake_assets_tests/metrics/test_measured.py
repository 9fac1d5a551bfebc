import pytest
from prometheus_client import CollectorRegistry

from lake_assets.metrics.health import FeedStatus, StreamsStatus
from lake_assets.metrics.measured import Measured
from lake_assets.model.reports import BatchReport, Span, Stage
from lake_assets_tests.places import t


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def measured(registry, clock):
    status = StreamsStatus(
        is_running=True,
        feeds={
            "games": FeedStatus(is_running=True, quiet_s=2.5, waiting_for="a disk"),
            "fitness": None,
        },
        refreshing={"games.player_agg": 4.0},
    )
    found = Measured(lambda: status, [("games", "player_agg"), ("games", "daily")], clock)
    registry.register(found)
    return found


def value(registry, name, **labels):
    return registry.get_sample_value(f"lake_assets_{name}", labels)


def ingested(rows, to):
    span = Span(query="q", offsets_to=to)
    return BatchReport(
        feed="games", stage=Stage.INGEST, batch_id=1, rows={"bronze_games": rows}, span=span
    )


def demuxed(rows):
    return BatchReport(feed="games", stage=Stage.DEMUX, batch_id=1, rows={"silver_x": rows})


def test_lag_of_a_source_is_told_by_partition(registry, measured, clock):
    measured.ends("games", t({0: 10, 1: 20}))
    clock.now += 10
    measured.ends("games", t({0: 30, 1: 20}))
    measured.batch(ingested(20, t({0: 20, 1: 20})))
    of_0, of_1 = ({"feed": "games", "source": "t", "partition": p} for p in "01")
    assert value(registry, "source_lag_rows", **of_0) == 10
    assert 0 < value(registry, "source_lag_seconds", **of_0) < 10
    assert value(registry, "source_lag_rows", **of_1) == 0
    assert value(registry, "source_lag_seconds", **of_1) == 0


def test_lag_goes_down_with_each_batch_and_no_look(registry, measured):
    measured.ends("games", t({0: 30}))
    for reached in (10, 20, 30):
        measured.batch(ingested(10, {("t", 0): reached}))
        lag = value(registry, "source_lag_rows", feed="games", source="t", partition="0")
        assert lag == 30 - reached


def test_lag_is_unknown_while_nobody_knows_where_bronze_is(registry, measured):
    measured.ends("games", t({0: 30}))
    assert not measured.is_taken_known("games")
    assert value(registry, "source_lag_rows", feed="games", source="t", partition="0") is None
    measured.taken("games", t({0: 12}))
    assert value(registry, "source_lag_rows", feed="games", source="t", partition="0") == 18


def test_what_batches_tell_goes_before_what_was_read(registry, measured):
    measured.batch(ingested(20, t({0: 20})))
    measured.taken("games", t({0: 12, 1: 5}))
    measured.ends("games", t({0: 30, 1: 6}))
    assert value(registry, "source_lag_rows", feed="games", source="t", partition="0") == 10
    assert value(registry, "source_lag_rows", feed="games", source="t", partition="1") == 1


def test_lag_is_unknown_when_the_source_has_not_answered_for_a_minute(registry, measured, clock):
    measured.batch(ingested(20, t({0: 20})))
    measured.ends("games", t({0: 30}))
    clock.now += 61
    assert value(registry, "source_lag_rows", feed="games", source="t", partition="0") is None


def test_a_partition_that_is_gone_is_told_of_no_more(registry, measured):
    measured.batch(ingested(20, t({0: 20, 1: 1})))
    measured.ends("games", t({0: 30, 1: 1}))
    measured.ends("games", t({0: 30}))
    assert value(registry, "source_lag_rows", feed="games", source="t", partition="1") is None


def test_how_long_ago_a_source_was_looked_at(measured, clock):
    assert measured.ends_age("games") == float("inf")
    measured.ends("games", t({0: 1}))
    clock.now += 3
    assert measured.ends_age("games") == 3


def test_demux_lags_by_what_came_into_bronze_and_it_has_not_taken(registry, measured, clock):
    measured.batch(ingested(10, t({0: 10})))
    clock.now += 4
    assert value(registry, "demux_lag_rows", feed="games") == 10
    assert value(registry, "demux_lag_seconds", feed="games") == 4
    measured.batch(demuxed(10))
    assert value(registry, "demux_lag_rows", feed="games") == 0
    assert value(registry, "demux_lag_seconds", feed="games") == 0


def test_what_bronzes_log_tells_puts_demuxs_lag_right(registry, measured):
    measured.batch(ingested(10, t({0: 10})))
    measured.batch(demuxed(10))
    measured.demux_lag("games", 1000)  # rows of before the process began
    assert value(registry, "demux_lag_rows", feed="games") == 1000
    measured.batch(ingested(5, t({0: 15})))
    assert value(registry, "demux_lag_rows", feed="games") == 1005


def test_demux_of_rows_of_before_is_not_ahead_of_bronze(registry, measured):
    measured.batch(demuxed(500))
    measured.batch(ingested(5, t({0: 5})))
    assert value(registry, "demux_lag_rows", feed="games") == 5


def test_a_refused_batch_takes_nothing(registry, measured):
    measured.batch(ingested(10, t({0: 10})))
    refused = BatchReport(
        feed="games", stage=Stage.DEMUX, batch_id=1, rows={"silver_x": 10}, is_committed=False
    )
    measured.batch(refused)
    assert value(registry, "demux_lag_rows", feed="games") == 10


def test_the_lag_of_a_stage_is_that_of_all_partitions_and_of_the_one_furthest_behind(
    measured, clock
):
    assert measured.lag_of("games", Stage.INGEST) is None
    measured.ends("games", t({0: 10, 1: 20}))
    assert measured.lag_of("games", Stage.INGEST) is None  # nobody knows where bronze is
    measured.batch(ingested(20, t({0: 7, 1: 20})))
    clock.now += 5
    assert measured.lag_of("games", Stage.INGEST) == (3, 5)
    assert measured.lag_of("games", Stage.DEMUX) == (20, 5)
    measured.batch(demuxed(20))
    assert measured.lag_of("games", Stage.DEMUX) == (0, 0)
    assert measured.lag_of("fitness", Stage.DEMUX) is None


@pytest.mark.usefixtures("measured")
def test_feeds_are_told_as_they_are_now(registry):
    assert value(registry, "feed_quiet_seconds", feed="games") == 2.5
    assert value(registry, "feed_waiting", feed="games") == 1
    assert value(registry, "feed_failed", feed="games") == 0
    assert value(registry, "feed_waiting", feed="fitness") == 0
    assert value(registry, "feed_quiet_seconds", feed="fitness") is None


@pytest.mark.usefixtures("measured")
def test_a_refresh_that_is_under_way_is_told(registry):
    assert value(registry, "view_refreshing_seconds", feed="games", view="player_agg") == 4
    assert value(registry, "view_refreshing_seconds", feed="games", view="daily") == 0


def test_memory_and_disk_are_told_once_they_are_known(registry, measured):
    assert value(registry, "disk_free_bytes") is None
    measured.memory({"driver": 5, "jvm": 7})
    measured.disk(free=3, size=9)
    assert value(registry, "memory_bytes", process="jvm") == 7
    assert (value(registry, "disk_free_bytes"), value(registry, "disk_size_bytes")) == (3, 9)
