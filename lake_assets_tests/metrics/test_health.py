from lake_assets.metrics.health import FeedStatus, StreamsStatus, liveness, readiness

LIMIT_S = 180.0


def status(**feed):
    of_feed = FeedStatus(**{"is_running": True, "quiet_s": 1.0, **feed})
    return StreamsStatus(is_running=True, feeds={"games": of_feed})


def test_streams_that_get_on_live_and_are_ready():
    assert liveness(status()).is_well
    assert readiness(status(), LIMIT_S).is_well


def test_a_feed_that_waits_lives_and_is_not_ready_and_says_for_what():
    waits = status(waiting_for="topic 'x': does not exist")
    assert liveness(waits).is_well
    assert readiness(waits, LIMIT_S).problems == {"games": "it waits: topic 'x': does not exist"}


def test_a_feed_that_failed_lives_and_is_not_ready():
    failed = status(failure="bronze: cannot be written")
    assert liveness(failed).is_well
    assert "bronze: cannot be written" in readiness(failed, LIMIT_S).problems["games"]


def test_a_feed_that_stands_still_at_a_poisoned_batch_is_not_said_to_be_tried_again():
    stopped = status(failure="demux: failed 3 times at the same batch", is_stopped=True)
    assert liveness(stopped).is_well
    told = readiness(stopped, LIMIT_S).problems["games"]
    assert told.startswith("it failed and stands still until somebody acts: demux")


def test_a_feed_without_progress_is_not_ready_and_says_for_how_long():
    assert readiness(status(quiet_s=LIMIT_S), LIMIT_S).is_well
    problems = readiness(status(quiet_s=200.4), LIMIT_S).problems
    assert problems == {"games": "no progress for 200 s; the limit is 180 s"}


def test_a_feed_whose_thread_has_ended_is_dead():
    ended = status(is_running=False, failure="no such topic")
    assert liveness(ended).problems == {"games": "its thread has ended: no such topic"}
    assert readiness(ended, LIMIT_S).problems == liveness(ended).problems


def test_a_feed_that_has_not_begun_is_alive_and_not_ready():
    begins = StreamsStatus(is_running=True, feeds={"games": None})
    assert liveness(begins).is_well
    assert readiness(begins, LIMIT_S).problems == {"games": "it has not begun yet"}


def test_streams_whose_thread_has_ended_are_dead():
    assert not liveness(StreamsStatus(is_running=False, feeds={})).is_well


def test_a_view_whose_thread_has_ended_is_dead_and_its_feed_goes_on():
    ended = StreamsStatus(is_running=True, feeds={}, ended_views={"games.top": "no memory"})
    expected = {"view games.top": "its thread has ended: no memory"}
    assert liveness(ended).problems == expected
    assert readiness(ended, LIMIT_S).problems == expected


def test_a_heartbeat_that_cannot_be_written_is_told():
    full = StreamsStatus(is_running=True, feeds={}, trouble={"heartbeat": "no space"})
    assert liveness(full).problems == {"heartbeat": "no space"}
