from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.alerts.decide import Look, Policy, Tracked, decide
from lake_assets.model.alerts import Moment, Problem, ProblemKind
from lake_assets_tests.alerts.problems import problem

POLICY = Policy(settle_s=60, waiting_after_s=30)
CHECK = problem()
OTHER = problem("silver_events/known/chess")
DOWN = problem("streams", ProblemKind.STREAMS_FAILED)
WAITS = problem("streams", ProblemKind.STREAMS_WAITING)

BEGUN, ENDED = Moment.BEGUN, Moment.ENDED

Told = list[tuple[float, Moment, str]]


def told(looks: Sequence[tuple[float, Sequence[Problem]]], unclear: Sequence[float] = ()) -> Told:
    """What a series of looks leads to; nothing is clear at the times in `unclear`."""
    tracked: tuple[Tracked, ...] = ()
    found: Told = []
    for now, problems in looks:
        keys = {p.key for p in (CHECK, OTHER, DOWN, WAITS)} if now in unclear else ()
        look = Look(now=now, utc_now=now, problems=problems, unclear=frozenset(keys))
        alerts, tracked = decide(look, tracked, POLICY)
        found += [(a.at, a.moment, a.problem.subject) for a in alerts]
    return found


def test_nothing_is_no_news():
    assert decide(Look(now=0, utc_now=0, problems=[]), (), POLICY) == ((), ())


def test_a_problem_is_told_once_while_it_lasts():
    looks = [(now, [CHECK]) for now in (0, 10, 20, 5000)]
    assert told(looks) == [(0, BEGUN, CHECK.subject)]


def test_its_end_is_told_once_it_has_settled():
    looks = [(0, [CHECK]), (10, []), (60, []), (70, []), (80, []), (900, [])]
    assert told(looks) == [(0, BEGUN, CHECK.subject), (70, ENDED, CHECK.subject)]


def test_a_problem_that_comes_and_goes_is_one():
    looks = [(now, [CHECK] if now % 60 == 0 else []) for now in range(0, 600, 10)]
    assert told(looks) == [(0, BEGUN, CHECK.subject)]


def test_a_problem_that_comes_back_after_its_end_is_a_new_one():
    looks = [(0, [CHECK]), (10, []), (70, []), (80, [CHECK])]
    moments = [moment for _, moment, _ in told(looks)]
    assert moments == [BEGUN, ENDED, BEGUN]


def test_a_problem_that_changes_is_the_same():
    worse = replace(CHECK, details="rows seen: 9, rows violated: 9", since=9.0)
    assert told([(0, [CHECK]), (10, [worse])]) == [(0, BEGUN, CHECK.subject)]


def test_problems_are_told_each_and_endings_first():
    looks = [(0, [CHECK]), (10, []), (70, [OTHER, DOWN])]
    assert told(looks)[1:] == [
        (70, ENDED, CHECK.subject),
        (70, BEGUN, OTHER.subject),
        (70, BEGUN, DOWN.subject),
    ]


def test_nothing_ends_or_begins_while_nobody_can_tell():
    looks = [(0, [CHECK]), *((now, []) for now in (10, 100, 1000)), (1010, [CHECK])]
    assert told(looks, unclear=[10, 100, 1000]) == [(0, BEGUN, CHECK.subject)]


def test_the_end_of_dead_streams_is_certain_at_once():
    assert told([(0, [DOWN]), (10, [])]) == [(0, BEGUN, "streams"), (10, ENDED, "streams")]


def test_streams_may_wait_a_while():
    assert told([(0, [WAITS]), (10, [WAITS]), (20, [])]) == []
    looks = [(0, [WAITS]), (20, [WAITS]), (30, [WAITS]), (40, []), (100, [])]
    assert told(looks) == [(30, BEGUN, "streams"), (100, ENDED, "streams")]


@pytest.mark.parametrize("step_s", [-86_400, -10, 3600])
def test_a_clock_that_is_set_neither_ends_nor_hurries_anything(step_s):
    """Alerts tell the time of the wall; what they wait for is counted by another clock."""
    seen = [(0.0, [WAITS]), (20.0, [WAITS]), (30.0, [WAITS]), (40.0, []), (99.0, []), (100.0, [])]
    tracked: tuple[Tracked, ...] = ()
    found = []
    for now, problems in seen:
        utc_now = 1e9 + now + (step_s if now > 10 else 0)
        look = Look(now=now, utc_now=utc_now, problems=problems)
        alerts, tracked = decide(look, tracked, POLICY)
        found += [(now, alert.moment, alert.at - utc_now) for alert in alerts]
    assert found == [(30, BEGUN, 0), (100, ENDED, 0)]


def test_a_reboot_begins_the_count_anew_and_repeats_nothing():
    gone = Tracked(problem=CHECK, seen_since=5e6, is_told=True, gone_since=5e6 + 50, boot="before")
    new = Tracked(problem=WAITS, seen_since=5e6, boot="before")
    tracked: tuple[Tracked, ...] = (gone, new)
    told = []
    for now in (1.0, 30.0, 31.0, 60.0, 61.0):
        look = Look(now=now, utc_now=1e9, problems=[WAITS], boot="now")
        alerts, tracked = decide(look, tracked, POLICY)
        told += [(now, alert.moment, alert.problem.kind) for alert in alerts]
    assert told == [(31, BEGUN, WAITS.kind), (61, ENDED, CHECK.kind)]


@given(st.lists(st.booleans(), max_size=60))
def test_beginnings_and_endings_alternate_whatever_happens(seen):
    looks = [(10.0 * n, [CHECK] if is_seen else []) for n, is_seen in enumerate(seen)]
    moments = [moment for _, moment, _ in told(looks)]
    assert moments == ([BEGUN, ENDED] * len(moments))[: len(moments)]
    assert bool(moments) == any(seen)
