import threading
from contextlib import contextmanager, nullcontext

import pytest

from lake_assets.settings.environment_lock import environment_read, environment_set


def _waits(inside, other) -> bool:
    """Whether a thread that enters `other` has to wait for `inside` to end."""
    entered = threading.Event()

    def enter() -> None:
        with other():
            entered.set()

    thread = threading.Thread(target=enter)
    with inside():
        thread.start()
        waited = not entered.wait(0.2)
    thread.join(10)
    assert entered.is_set()
    return waited


@pytest.mark.parametrize(
    ("inside", "other", "waits"),
    [
        (environment_read, environment_read, False),
        (environment_read, environment_set, True),
        (environment_set, environment_read, True),
        (environment_set, environment_set, True),
        (nullcontext, environment_set, False),
    ],
)
def test_who_waits_for_whom(inside, other, waits):
    assert _waits(inside, other) is waits


@contextmanager
def _set_and_read():
    with environment_set():
        with environment_set(), environment_read():
            pass
        yield


def test_who_sets_it_may_read_and_set_it():
    assert _waits(_set_and_read, environment_read)


def test_an_error_ends_a_turn():
    for turn in (environment_read, environment_set):
        with pytest.raises(ValueError, match="mine"), turn():
            raise ValueError("mine")
    assert not _waits(nullcontext, environment_set)
