from datetime import timedelta

import pytest

from lake_assets.settings.schema import StreamSettings
from lake_assets.streams.triggers import (
    demux_every_s,
    ingest_every_s,
    next_refresh_at,
    tasks_of,
    view_tasks_of,
)
from lake_assets_tests.sample import GAMES


def feed(seconds=None):
    trigger = None if seconds is None else timedelta(seconds=seconds)
    return GAMES.model_copy(update={"trigger": trigger})


def test_a_feed_without_a_trigger_has_the_pace_of_the_settings():
    assert ingest_every_s(feed(), StreamSettings(trigger_s=3)) == 3


def test_a_feed_with_a_trigger_has_its_own():
    assert ingest_every_s(feed(0.5), StreamSettings(trigger_s=3)) == 0.5


def test_demux_follows_sooner_than_ingest_comes_again():
    assert demux_every_s(feed(60), StreamSettings()) == 0.25


def test_demux_looks_no_less_often_than_ingest():
    assert demux_every_s(feed(0.1), StreamSettings()) == 0.1
    assert demux_every_s(feed(), StreamSettings(trigger_s=0)) == 0


@pytest.mark.parametrize(
    ("rows", "tables", "tasks"),
    [
        (3_000, 1_000, 1),  # few rows for many tables: 1,000 files, not 1,750
        (3_000, 100, 1),
        (0, 7, 1),
        (19_999, 7, 1),
        (20_000, 7, 2),  # both tasks are worth their start
        (399_999, 1_000, 1),
        (400_000, 1_000, 2),
        (2_000_000, 1_000, 4),  # never more than cores
        (2_000_000, 7, 4),
    ],
)
def test_a_batch_is_cut_as_far_as_its_rows_are_worth_it(rows, tables, tasks):
    assert tasks_of(rows, tables, cores=4) == tasks


@pytest.mark.parametrize(
    ("pace", "took", "after"),
    [
        (0, 0.5, 2.5),  # a live view rests for two seconds at least
        (0, 10, 20),  # and as long as it took
        (30, 0.5, 30),
        (30, 20, 40),
    ],
)
def test_a_view_is_due_again_by_its_pace_and_takes_half_of_the_time_at_most(pace, took, after):
    assert next_refresh_at(timedelta(seconds=pace), 100.0, 100.0 + took) == 100.0 + after


def test_a_refresh_leaves_a_core_of_a_laptop_to_the_streams_and_a_cluster_to_spark():
    assert [view_tasks_of(cores) for cores in (1, 2, 8, None)] == [1, 1, 7, None]
