import time

from benchmarks.watchdog import Watchdog


def test_what_is_silent_for_too_long_is_ended():
    ended = []
    watchdog = Watchdog(0.01, lambda: ended.append(1))
    deadline = time.monotonic() + 10
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)  # the timer is of the machine's clock
    assert (ended, watchdog.has_bitten) == ([1], True)


def test_what_is_heard_of_and_what_rests_is_not():
    ended = []
    watchdog = Watchdog(3600, lambda: ended.append(1))
    for _ in range(3):
        watchdog.heard()
    watchdog.rest()
    assert (ended, watchdog.has_bitten) == ([], False)
