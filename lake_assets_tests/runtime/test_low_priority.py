import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from lake_assets.runtime.low_priority import at_low_priority


def own_priority():
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def priorities():
    with ThreadPoolExecutor(1) as pool:
        return own_priority(), pool.submit(own_priority).result()


def test_the_work_and_its_threads_give_way_and_the_caller_does_not():
    before = own_priority()
    assert at_low_priority(priorities) == (10, 10)
    assert own_priority() == before


def test_the_work_is_about_what_the_caller_is():
    about = ContextVar("about", default="nothing")
    about.set("uno")
    assert at_low_priority(about.get) == "uno"


def test_what_the_work_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        at_low_priority(lambda: 1 // 0)
