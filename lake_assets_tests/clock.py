"""A wall clock that a test sets: what the product's modules in this process read of it."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest


@dataclass
class WallClock:
    """How far ahead of the machine's clock the product's is."""

    ahead: timedelta = timedelta()


class _Kind(type):
    """Of a class that stands for `datetime`, so that any datetime is one of it."""

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, datetime)


@contextmanager
def wall_clock() -> Iterator[WallClock]:
    """Let modules that are loaded by now read a clock that can be set.

    Times of files stay the machine's, and so do those that other engines write.
    """
    clock, real = WallClock(), time.time

    def seconds() -> float:
        return real() + clock.ahead.total_seconds()

    class Shifted(datetime, metaclass=_Kind):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + clock.ahead

    ours = [module for name, module in sys.modules.items() if name.startswith("lake_assets.")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", seconds)
        for module in ours:
            for name, value in list(vars(module).items()):
                if value is datetime:
                    patch.setattr(module, name, Shifted)
                elif value is real:
                    patch.setattr(module, name, seconds)
        yield clock
