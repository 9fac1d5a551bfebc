import pytest

from lake_assets.metrics.snapshot import Scrape, is_same_process, snapshot_of

BEGAN = "lake_assets_start_time_seconds 1000\n"


def text(*, silver, quarantine, batches, job, began=BEGAN):
    of_demux = 'feed="games",stage="demux"'
    return f"""{began}
lake_assets_feed_waiting{{feed="games"}} 0
lake_assets_feed_quiet_seconds{{feed="games"}} 0.5
lake_assets_rows_total{{{of_demux},outcome="silver"}} {silver}
lake_assets_rows_total{{{of_demux},outcome="quarantine"}} {quarantine}
lake_assets_rows_total{{feed="games",stage="ingest",outcome="bronze"}} 7
lake_assets_batch_seconds_count{{{of_demux}}} {batches}
lake_assets_batch_phase_seconds_total{{{of_demux},phase="job"}} {job}
lake_assets_source_lag_rows{{feed="games",partition="0"}} 3
lake_assets_source_lag_rows{{feed="games",partition="1"}} 4
lake_assets_source_lag_seconds{{feed="games",partition="0"}} 2
lake_assets_source_lag_seconds{{feed="games",partition="1"}} 9
lake_assets_view_failures_total{{feed="games",view="a"}} 2
lake_assets_view_failures_total{{feed="games",view="b"}} 0
lake_assets_view_refreshes_total{{feed="games",view="a",way="full"}} 5
lake_assets_view_refreshed_timestamp_seconds{{feed="games",view="a"}} 1090
lake_assets_view_refreshing_seconds{{feed="games",view="b"}} 4
lake_assets_memory_bytes{{process="jvm"}} 100
lake_assets_disk_free_bytes 30
lake_assets_disk_size_bytes 90
"""


BEFORE = Scrape.parse(text(silver=100, quarantine=0, batches=10, job=5), at=50)
NOW = Scrape.parse(text(silver=160, quarantine=20, batches=14, job=7), at=60)


@pytest.fixture
def found():
    return snapshot_of(BEFORE, NOW, wall_s=1100, problems={})


def test_rates_are_those_between_two_scrapes(found):
    (games,) = found.feeds
    assert games.demux.rows_per_s == 8
    assert games.demux.batches_per_s == 0.4
    assert games.ingest.rows_per_s == 0


def test_phases_are_an_average_of_the_batches_between(found):
    assert found.feeds[0].demux.phases == {"job": 0.5}


def test_without_a_batch_between_phases_are_those_since_the_streams_began():
    (games,) = snapshot_of(NOW, NOW, wall_s=1100, problems={}).feeds
    assert games.demux.phases == {"job": 0.5}
    assert games.demux.rows_per_s == 0


def test_quarantine_is_a_share_of_the_rows_between(found):
    assert found.feeds[0].quarantine_share == 0.25
    (alone,) = snapshot_of(NOW, NOW, wall_s=1100, problems={}).feeds
    assert alone.quarantine_share == pytest.approx(20 / 180)


def test_lag_is_the_rows_of_all_partitions_and_the_age_of_the_oldest(found):
    (games,) = found.feeds
    assert (games.ingest.lag_rows, games.ingest.lag_s) == (7, 9)
    assert (games.demux.lag_rows, games.demux.lag_s) == (None, None)


def test_views_are_told_each(found):
    first, second = found.views
    assert (first.view, first.age_s, first.failures, first.ways) == ("a", 10, 2, {"full": 5})
    assert (second.view, second.age_s, second.refreshing_s) == ("b", None, 4)


def test_memory_disk_and_how_long_it_runs(found):
    assert found.memory == {"jvm": 100}
    assert (found.disk_free, found.disk_size, found.up_s) == (30, 90, 100)


def test_a_problem_of_a_feed_is_told_with_it_and_others_apart():
    problems = {"games": "it waits: no broker", "heartbeat": "no space"}
    found = snapshot_of(BEFORE, NOW, wall_s=1100, problems=problems)
    assert found.feeds[0].problem == "it waits: no broker"
    assert found.problems == {"heartbeat": "no space"}


def test_streams_that_started_anew_are_another_process():
    again = text(silver=0, quarantine=0, batches=0, job=0, began=BEGAN.replace("1000", "2000"))
    assert is_same_process(BEFORE, NOW)
    assert not is_same_process(NOW, Scrape.parse(again, at=70))


def test_streams_that_say_nothing_yet_are_told_as_such():
    found = snapshot_of(Scrape(1, {}), Scrape(2, {}), wall_s=1100, problems={})
    assert (found.feeds, found.views, found.up_s, found.disk_free) == ((), (), 0, None)


def test_a_feed_with_a_schedule_is_there_with_its_next_run_though_it_does_not_run(found):
    told = text(silver=1, quarantine=0, batches=1, job=1)
    told += 'lake_assets_feed_next_run_timestamp_seconds{feed="hourly"} 1160\n'
    scrape = Scrape.parse(told, at=70)
    games, hourly = snapshot_of(scrape, scrape, wall_s=1100, problems={}).feeds
    assert (games.next_run_s, games.quiet_s) == (None, 0.5)
    assert (hourly.feed, hourly.next_run_s, hourly.quiet_s) == ("hourly", 60, None)
    (overdue,) = snapshot_of(scrape, scrape, wall_s=1200, problems={}).feeds[1:]
    assert overdue.next_run_s == 0
    assert [feed.next_run_s for feed in found.feeds] == [None]
