from contextlib import closing

import pytest

from lake_assets.errors import ServiceError, StreamsLockedError
from lake_assets.model.reports import Waiting
from lake_assets.state.files import is_locked, read_heartbeat, streams_lock
from lake_assets.streams.run import Tick
from lake_assets.streams.stop_request import Ended, await_stopped, stop_streams
from lake_assets.streams.wait_for_services import wait_for_services
from lake_assets_tests.sample import GAMES


def absent():
    raise ServiceError("embedded kafka", "does not run", "Start it")


@pytest.fixture
def events(settings):
    with closing(wait_for_services(settings, [GAMES], absent, owner="A")) as found:
        yield found


def test_it_says_once_what_it_waits_for(events):
    first = next(events)
    assert isinstance(first, Waiting)
    assert first.reason == "embedded kafka: does not run. Start it"
    assert next(events) == Tick()


def test_it_holds_the_lock_and_has_a_heartbeat_while_it_waits(settings, events):
    next(events)
    assert is_locked(settings.state_dir)
    beat = read_heartbeat(settings.state_dir)
    assert beat
    assert (beat.owner, beat.waiting_for) == ("A", "embedded kafka: does not run. Start it")


def test_a_stream_that_is_stopped_meanwhile_stands_still_at_once(settings):
    stream = settings.stream.model_copy(update={"heartbeat_every_s": 0.05})
    settings = settings.model_copy(update={"stream": stream})
    with closing(wait_for_services(settings, [GAMES], absent, owner="A")) as events:
        next(events)
        stop_streams(settings, [GAMES], by="anna")
        assert await_stopped(settings, "games", within_s=20.0) is Ended.STANDS_STILL


def test_it_frees_the_lock_when_it_is_closed(settings, events):
    next(events)
    events.close()
    assert not is_locked(settings.state_dir)


def test_it_does_not_wait_beside_other_streams(settings, events):
    with streams_lock(settings.state_dir), pytest.raises(StreamsLockedError):
        next(events)
