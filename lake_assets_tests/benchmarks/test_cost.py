import os

import pytest

from benchmarks.cost import cpu_times_of, shares_of


def test_the_own_process_is_the_driver():
    (kind, pid, _), *_ = cpu_times_of(os.getpid())
    assert (kind, pid) == ("driver", os.getpid())


def test_shares_are_what_processes_used_meanwhile():
    before = {("driver", 1, 0.0): 5.0, ("jvm", 2, 0.0): 1.0, ("workers", 3, 0.0): 9.0}
    after = {("driver", 1, 0.0): 6.0, ("jvm", 2, 0.0): 3.0, ("workers", 4, 0.0): 0.5}
    shares = shares_of(before, after, 10.0)
    assert shares == pytest.approx({"core": 35.0, "jvm": 20.0, "workers": 5.0, "driver": 10.0})
