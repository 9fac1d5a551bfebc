"""Work that gives way to whatever else the machine has to do."""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import TypeVar

_Out = TypeVar("_Out")

_NICE = 10
"""Of 19: beside a busy stream it gets a tenth of a core, and all of an idle one. Linux derives the
disk's priority from it."""


def at_low_priority(act: Callable[[], _Out]) -> _Out:
    """Do something in a thread of low priority, and wait for it; raises as it does.

    The caller's own priority stays, and so does that of threads it began before. Threads that the
    work begins have the low one. If the wait is interrupted the thread ends with the process, so
    the work must bear to be killed. Other systems than Linux have one priority for all threads of
    a process: there it is not changed.
    """
    done: Future[_Out] = Future()
    own = partial(copy_context().run, act)  # what is logged names what the caller is about
    threading.Thread(target=_work, args=(own, done), name="low-priority", daemon=True).start()
    return done.result()


def _work(act: Callable[[], _Out], done: "Future[_Out]") -> None:
    try:
        if sys.platform == "linux":
            own = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, own, max(_NICE, os.getpriority(os.PRIO_PROCESS, own)))
        done.set_result(act())
    except BaseException as problem:  # noqa: BLE001 - whoever waits is told
        done.set_exception(problem)
