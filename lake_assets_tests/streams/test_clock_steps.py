from lake_assets.streams.clock_steps import ClockSteps
from lake_assets_tests.e2e.dev import wait_for


class Clocks:
    """A wall clock that can be set, beside one that cannot."""

    def __init__(self):
        self.wall, self.steady = 1_000.0, 10.0
        self.steps = ClockSteps(lambda: self.wall, lambda: self.steady)

    def went_back_after(self, seconds: float, *, step: float = 0.0) -> bool:
        self.steady += seconds
        self.wall += seconds + step
        return self.steps.went_back()


def test_a_clock_that_runs_was_not_set_back():
    clocks = Clocks()
    assert not any(clocks.went_back_after(seconds) for seconds in (0.25, 3600, 0))


def test_a_clock_that_was_set_back_stays_so():
    clocks = Clocks()
    assert clocks.went_back_after(0.25, step=-3600)
    assert clocks.went_back_after(0.25)


def test_a_clock_that_was_set_forward_and_then_right_was_set_back():
    clocks = Clocks()
    assert not clocks.went_back_after(0.25, step=3600)
    assert clocks.went_back_after(0.25, step=-3600)


def test_a_clock_that_is_slewed_for_hours_was_not_set_back():
    clocks = Clocks()
    assert not any(clocks.went_back_after(600, step=-0.3) for _ in range(100))


def test_a_clock_that_was_ahead_while_nobody_looked_was_watched_all_the_same():
    clocks, looks = Clocks(), []

    def wall():
        looks.append(clocks.wall)
        return clocks.wall

    steps = ClockSteps(wall, lambda: clocks.steady)
    with steps.watched():
        clocks.wall += 3600
        wait_for(lambda: clocks.wall in looks, "a look", within_s=120)
        clocks.wall -= 3600
        assert steps.went_back()
