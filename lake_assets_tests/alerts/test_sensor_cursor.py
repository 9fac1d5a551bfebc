import pytest

from lake_assets.alerts.sensor_cursor import Watch, is_gold_due

UTC = 1.8e9
AWAKE = Watch(
    boot="now", awake_since=1000, last_at=1990, last_utc=UTC, gold_at=1900, known_run="a", said="b"
)


def wake(now: float, *, step_s: float = 0.0, boot: str = "now", loaded_at: float = 900) -> Watch:
    """The watch at a look, after the clock of the wall went so much further than the other."""
    return AWAKE.wake(now, UTC + now - 1990 + step_s, boot=boot, loaded_at=loaded_at)


def test_a_watch_survives_as_text():
    assert Watch.from_json(AWAKE.to_json()) == AWAKE


@pytest.mark.parametrize("text", [None, "", "rubbish", "[]", '{"other": 1}'])
def test_anything_else_starts_afresh(text):
    assert Watch.from_json(text) == Watch()


def test_looks_without_a_gap_are_one_watch():
    assert wake(2000) == wake(2000, step_s=-10) == AWAKE


@pytest.mark.parametrize(
    ("now", "step_s"), [(2111, 0), (2000, 121), (2000, -86_400)], ids=["gap", "slept", "set"]
)
def test_a_gap_a_sleep_or_a_clock_that_is_set_begins_a_new_one(now, step_s):
    found = wake(now, step_s=step_s)
    assert (found.awake_since, found.known_run, found.gold_at) == (now, None, 1900)


def test_a_new_process_begins_a_new_one():
    assert wake(2000, loaded_at=1995).awake_since == 2000


def test_a_reboot_begins_a_new_one_of_which_no_time_is_left():
    assert wake(20, boot="later") == Watch(boot="later", awake_since=20, said="b")


@pytest.mark.parametrize(
    ("now", "tick", "is_open", "is_due"),
    [
        (2000, 1800, False, True),  # its grace ended at 1920, after the last look
        (2000, 1780, False, False),  # that one was judged by the last look
        (2000, 1780, True, True),
        (1950, 1800, True, False),  # a look was made 50 s ago
    ],
)
def test_gold_is_looked_at_when_a_grace_ends_or_a_miss_is_open(now, tick, is_open, is_due):
    assert is_gold_due(AWAKE, now, grace_s=120, ticks=[tick], is_open=is_open) is is_due


def test_whoever_wakes_up_gets_the_grace_first():
    young = Watch(awake_since=1900)
    assert not is_gold_due(young, 2019, grace_s=120, ticks=[1000], is_open=True)
    assert is_gold_due(young, 2020, grace_s=120, ticks=[1000], is_open=False)


def test_without_schedules_nothing_is_due():
    assert not is_gold_due(AWAKE, 2000, grace_s=120, ticks=[], is_open=False)
