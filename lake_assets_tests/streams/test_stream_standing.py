from dataclasses import replace

import pytest

from lake_assets.model.processes import ProcessId
from lake_assets.state.files import own_heartbeat, streams_lock, write_heartbeat
from lake_assets.state.stream_stops import StreamStop, note_stop
from lake_assets.streams.stream_standing import StreamState, standing_of
from lake_assets_tests.sample import GAMES

HOURLY = GAMES.model_copy(update={"feed": "hourly", "run": "0 * * * *"})
GONE = ProcessId(boot="another machine", pid=1, start="1")


@pytest.fixture
def standing(settings):
    """How the stream of the sample feed is, while a process has the lock and beats so."""

    def find(*, waiting_for=None, is_far=False, **facts):
        with streams_lock(settings.state_dir):
            beat = own_heartbeat("a run", progressed_at=0.0, waiting_for=waiting_for)
            beat = replace(beat, process=GONE) if is_far else beat
            write_heartbeat(settings.state_dir, replace(beat, **facts))
            found = standing_of(settings, GAMES)
        return found.state, found.detail

    return find


def test_without_a_process_nothing_runs(settings):
    assert standing_of(settings, GAMES).state is StreamState.NOT_RUNNING


def test_a_feed_with_a_schedule_has_none(settings):
    found = standing_of(settings, HOURLY)
    assert (found.state, found.detail) == (StreamState.SCHEDULED, "0 * * * *")


@pytest.mark.parametrize("is_far", [False, True])
def test_a_stream_runs_waits_or_is_blocked_as_its_process_says(standing, is_far):
    assert standing(is_far=is_far) == (StreamState.RUNNING, "")
    waits = standing(waiting_for="no broker", is_far=is_far)
    assert waits == (StreamState.WAITING, "no broker")
    blocked = standing(stopped={"games": "poison"}, is_far=is_far)
    assert blocked == (StreamState.BLOCKED, "poison")
    assert standing(stopped={"other": "poison"}, is_far=is_far) == (StreamState.RUNNING, "")


def test_a_stopped_stream_says_who_did_and_whether_its_batch_is_over(settings, standing):
    note_stop(settings.state_dir, "games", StreamStop(by="anna"))
    assert standing() == (StreamState.STOPPING, "by anna")
    assert standing(stopped_by={"games": "by anna"}) == (StreamState.STOPPED, "by anna")
    assert standing_of(settings, GAMES).state is StreamState.STOPPED
