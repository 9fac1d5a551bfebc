import signal
import subprocess
import sys
import threading
import time

import pytest

from lake_assets.runtime import wait_through as module
from lake_assets.runtime.wait_through import wait_through


class InterruptedWait(threading.Event):
    """Is interrupted, as by a signal, before it comes."""

    def __init__(self):
        super().__init__()
        self.waits = 0

    def wait(self, timeout=None):
        self.waits += 1
        if self.waits < 2:
            signal.raise_signal(signal.SIGINT)
        self.set()
        return super().wait(timeout)


def test_a_wait_that_is_interrupted_goes_on_and_the_interrupt_is_raised_then(caplog):
    ended = InterruptedWait()
    with pytest.raises(KeyboardInterrupt):
        wait_through(ended, still=lambda: "the batch of games")
    assert ended.is_set()
    assert ended.waits == 2
    assert "not at its end: the batch of games;" in caplog.text


def test_what_has_ended_is_not_waited_for():
    ended = InterruptedWait()
    ended.set()
    wait_through(ended, ask=pytest.fail)
    assert ended.waits == 0


def test_what_was_interrupted_while_it_asked_asks_again():
    asked, ended = [], threading.Event()

    def ask():
        asked.append(1)
        if len(asked) == 1:
            signal.raise_signal(signal.SIGINT)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        wait_through(ended, ask=ask)
    assert len(asked) == 2


def test_who_cannot_ask_waits_all_the_same():
    ended = threading.Event()

    def ask():
        threading.Timer(0.1, ended.set).start()
        raise OSError(28, "no space")

    with pytest.raises(OSError, match="no space"):
        wait_through(ended, ask=ask)
    assert ended.is_set()


_WAITS = """
import signal, threading
from lake_assets.runtime import wait_through as module

class Interrupted(threading.Event):
    def wait(self, timeout=None):
        signal.raise_signal(signal.SIGINT)

def still():
    print("told", flush=True)
    return "it"

try:
    module.wait_through(Interrupted(), still=still)
finally:
    print("its lock is given up", flush=True)
"""


def test_a_later_interrupt_ends_the_process_and_nothing_is_given_up_before():
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _WAITS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (130, "told\n")
    # Of many that come at once none is an answer to what was told.
    assert time.monotonic() - began >= module._MEANT_AFTER_S  # noqa: SLF001 - it is what it says
