import threading
from contextlib import contextmanager, nullcontext

import pytest

from lake_assets.settings.environment_lock import environment_set, reading_environment
from lake_assets_tests.programs import run_program


@contextmanager
def reads():
    """Another thread reads the environment, until the end of this."""
    began, ends = threading.Event(), threading.Event()

    def read() -> bool:
        began.set()
        return ends.wait(10)

    thread = threading.Thread(target=reading_environment, args=[read])
    thread.start()
    assert began.wait(10)
    yield
    ends.set()
    thread.join(10)


def _set() -> None:
    with environment_set():
        pass


def _read() -> None:
    assert reading_environment(lambda: "value") == "value"


def _waits(inside, turn) -> bool:
    """Whether a thread that takes a turn has to wait for `inside` to end."""
    taken = threading.Event()

    def take() -> None:
        turn()
        taken.set()

    thread = threading.Thread(target=take)
    with inside():
        thread.start()
        waited = not taken.wait(0.2)
    thread.join(10)
    assert taken.is_set()
    return waited


@pytest.mark.parametrize(
    ("inside", "turn", "waits"),
    [
        (reads, _read, False),
        (reads, _set, True),
        (environment_set, _read, True),
        (environment_set, _set, True),
        (nullcontext, _set, False),
    ],
)
def test_who_waits_for_whom(inside, turn, waits):
    assert _waits(inside, turn) is waits


@contextmanager
def _set_and_read():
    with environment_set():
        _set()
        _read()
        yield


def test_who_sets_it_may_read_and_set_it():
    assert _waits(_set_and_read, _read)


def _fail() -> None:
    message = "mine"
    raise ValueError(message)


def test_an_error_ends_a_turn():
    with pytest.raises(ValueError, match="mine"):
        reading_environment(_fail)
    with pytest.raises(ValueError, match="mine"), environment_set():
        _fail()
    assert not _waits(nullcontext, _set)


_INTERRUPTED = """
import os, signal, subprocess, sys
from lake_assets.settings.environment_lock import environment_set, reading_environment
interrupts = 0

def read_on():
    while True:
        reading_environment(int)

def interrupt(_, frame):
    global interrupts
    while frame is not None and frame.f_code is not read_on.__code__:
        frame = frame.f_back
    if frame is not None:
        interrupts += 1
        raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)
send = f"import os, time\\nwhile os.getppid() == {os.getpid()}: "
send += f"os.kill({os.getpid()}, 2); time.sleep(0.002)"
sender = subprocess.Popen([sys.executable, "-c", send])
while interrupts < 300:
    try:
        read_on()
    except KeyboardInterrupt:
        pass
sender.kill()
sender.wait()
with environment_set():
    print("free")
"""


def test_an_interrupt_wherever_it_comes_leaves_nothing_locked():
    """Sent by another process: a thread of the same one runs only where the first is in C."""
    assert run_program(_INTERRUPTED, [], timeout_s=120) == "free\n"
