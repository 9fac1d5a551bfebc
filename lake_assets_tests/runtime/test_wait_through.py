import signal
import threading

import pytest

from lake_assets.runtime.wait_through import wait_through


class InterruptedWait(threading.Event):
    """Is interrupted twice, as by signals, before it comes."""

    def __init__(self):
        super().__init__()
        self.waits = 0

    def wait(self, timeout=None):
        self.waits += 1
        if self.waits < 3:
            signal.raise_signal(signal.SIGINT)
        self.set()
        return super().wait(timeout)


def test_a_wait_that_is_interrupted_goes_on_and_the_interrupt_is_raised_then():
    ended = InterruptedWait()
    with pytest.raises(KeyboardInterrupt):
        wait_through(ended)
    assert ended.is_set()
    assert ended.waits == 3


def test_what_has_ended_is_not_waited_for():
    ended = InterruptedWait()
    ended.set()
    wait_through(ended)
    assert ended.waits == 0
