import threading
from dataclasses import replace

import pytest

from lake_assets.errors import FeedError
from lake_assets.services.control import locate
from lake_assets.state.files import own_heartbeat, streams_lock, write_heartbeat
from lake_assets.state.stream_stops import StreamStoppedError, stop_of
from lake_assets.streams.run import stream_events
from lake_assets.streams.run_feed import run_feed
from lake_assets.streams.running_streams import ToRun
from lake_assets.streams.stop_request import (
    Ended,
    await_stopped,
    feeds_meant,
    start_streams,
    stop_streams,
)
from lake_assets_tests.sample import GAMES

FITNESS = GAMES.model_copy(update={"feed": "fitness"})
HOURLY = GAMES.model_copy(update={"feed": "hourly", "run": "0 * * * *"})


def beating(settings, **stopped_by):
    beat = own_heartbeat("a run", progressed_at=0.0, waiting_for=None)
    write_heartbeat(settings.state_dir, replace(beat, stopped_by=stopped_by))


def test_a_blank_name_means_all_that_the_streams_run():
    assert feeds_meant([GAMES, FITNESS, HOURLY], "") == (GAMES, FITNESS)
    assert feeds_meant([GAMES, FITNESS, HOURLY], "fitness") == (FITNESS,)


def test_an_unknown_name_is_told_with_those_that_there_are():
    with pytest.raises(FeedError, match="games"):
        feeds_meant([GAMES], "gmaes")


@pytest.mark.parametrize("name", ["", "hourly"])
def test_a_feed_with_a_schedule_has_no_stream_to_stop(settings, name):
    with pytest.raises(FeedError, match=r"schedule of (its|their) own"):
        stop_streams(settings, feeds_meant([HOURLY], name), by="anna")
    assert stop_of(settings.state_dir, "hourly") is None


def test_what_is_stopped_is_started_again(settings):
    stops = stop_streams(settings, [GAMES], by="anna", reason="it moves")
    assert stop_of(settings.state_dir, "games") == stops["games"]
    assert start_streams(settings, [GAMES, FITNESS]) == stops
    assert stop_of(settings.state_dir, "games") is None


def test_nothing_is_awaited_where_nothing_runs(settings):
    stop_streams(settings, [GAMES], by="anna")
    assert await_stopped(settings, "games") is Ended.NOTHING_RAN


def await_beat_after(settings, *, by):
    """What was beaten so far ends no wait; the next beat, which heeds the stop, does."""
    assert await_stopped(settings, "games", within_s=0.0) is Ended.NOT_YET
    later = threading.Timer(0.2, beating, [settings], {"games": f"by {by}"})
    later.start()
    assert await_stopped(settings, "games", within_s=30.0) is Ended.STANDS_STILL
    later.join()


def test_a_stream_is_awaited_until_its_process_says_that_it_stands_still(settings):
    stop_streams(settings, [GAMES], by="anna")
    with streams_lock(settings.state_dir):
        beating(settings)
        await_beat_after(settings, by="anna")


def test_a_heartbeat_of_an_earlier_stop_is_not_believed(settings):
    with streams_lock(settings.state_dir):
        beating(settings, games="by anna")
        stop_streams(settings, [GAMES], by="otto")
        await_beat_after(settings, by="otto")


def test_of_a_heartbeat_from_elsewhere_another_one_is_awaited(settings):
    stop_streams(settings, [GAMES], by="anna")
    with streams_lock(settings.state_dir):
        far = own_heartbeat("a run", progressed_at=0.0, waiting_for=None)
        far = replace(far, process=replace(far.process, boot="another"), at=1e9)
        far = replace(far, stopped_by={"games": "by anna"})
        write_heartbeat(settings.state_dir, far)
        assert await_stopped(settings, "games", within_s=0.0) is Ended.NOT_YET
        again = replace(far, at=5.0)
        later = threading.Timer(0.2, write_heartbeat, [settings.state_dir, again])
        later.start()
        assert await_stopped(settings, "games", within_s=30.0) is Ended.STANDS_STILL
        later.join()


def test_streams_of_which_all_are_stopped_do_not_begin(settings):
    stop_streams(settings, [GAMES], by="anna")
    events = stream_events(settings, [GAMES, HOURLY], locate(settings, []), owner="a test")
    with pytest.raises(StreamStoppedError, match="by anna") as told:
        next(events)
    assert "streams start --feed games" in str(told.value)


@pytest.mark.parametrize("is_run", [False, True])
def test_a_stopped_feed_is_not_run_by_its_name_either(settings, is_run):
    stop_streams(settings, [GAMES], by="anna")
    feeds, endpoints = [GAMES, FITNESS], locate(settings, [])
    run = run_feed(settings, feeds, GAMES, lambda: endpoints, owner="a test")
    only = stream_events(settings, feeds, endpoints, owner="a test", what=ToRun.only(["games"]))
    with pytest.raises(StreamStoppedError, match="stopped deliberately by anna"):
        next(run if is_run else only)
