"""Every situation the supervisor may find, and what it does."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.supervision.decide import decide, delay_s, is_lost
from lake_assets.supervision.facts import (
    CLI,
    Action,
    Ending,
    Kind,
    Observed,
    Phase,
    RunFact,
    Why,
    Writer,
)
from lake_assets.supervision.sensor_cursor import Asked, Backoff, Memory
from lake_assets_tests.supervision.situations import (
    HOLDER,
    NEW,
    NOW,
    POLICY,
    beat,
    ended,
    free,
    held,
    let_go,
    look,
    run,
)

NOTHING, START = Kind.NOTHING, Kind.START

SIGNALLED = replace(ended(Ending.STOPPED, ago_s=5.0), is_by_others=True)

SITUATIONS: dict[str, tuple[Observed, Kind, Why, str | None]] = {
    # nothing there
    "an empty lake": (Observed(now=NOW, is_locked=False), START, Why.ABSENT, None),
    "the last run was cancelled": (
        free(last_ended=ended(Ending.STOPPED)), START, Why.ABSENT, None,
    ),
    "a run died just now": (free(last_ended=ended()), NOTHING, Why.BACKING_OFF, None),
    "a run died a while ago": (free(last_ended=ended(ago_s=2.0)), START, Why.ABSENT, None),
    "a signal ended the last run, and perhaps the code server": (
        replace(free(last_ended=SIGNALLED), loaded_ago_s=60.0), NOTHING, Why.SERVER_ENDS, None,
    ),
    "a signal ended the last run and no code server": (
        replace(free(last_ended=replace(SIGNALLED, ended_ago_s=10.0)), loaded_ago_s=60.0),
        START, Why.ABSENT, None,
    ),
    "a signal ended the last run and its code server": (
        replace(free(last_ended=SIGNALLED), loaded_ago_s=4.0), START, Why.ABSENT, None,
    ),
    "a signal ended the last run, by a clock that was set back since": (
        replace(
            free(last_ended=replace(SIGNALLED, ended_ago_s=0.0, is_ahead=True)), loaded_ago_s=60.0
        ),
        START, Why.ABSENT, None,
    ),
    "no feed is run without pause": (
        Observed(now=NOW, is_locked=False, is_wanted=False), NOTHING, Why.UNWANTED, None,
    ),
    "no feed is run without pause, and a run lost its process": (
        replace(free(run(age_s=21)), is_wanted=False), Kind.FAIL_RUN, Why.PROCESS_GONE, "A",
    ),
    # a run of a feed, which has the lock while no streams run
    "a run of a feed has the lock": (
        replace(held(beat()), is_run_of_feed=True), NOTHING, Why.RUN_OF_FEED, None,
    ),
    "a run of a feed gets nowhere": (
        replace(held(beat(stalled_s=181)), is_run_of_feed=True),
        Kind.ASK_TO_END, Why.STALLED, None,
    ),
    "a run of a feed is silent": (
        replace(held(beat(silent_s=61)), is_run_of_feed=True), Kind.ASK_TO_END, Why.SILENT, None,
    ),
    # on its way
    "a run is queued": (free(run(phase=Phase.WAITING, age_s=60)), NOTHING, Why.COMING_UP, None),
    "a run is queued for an hour": (
        free(run(phase=Phase.WAITING, age_s=3600)), NOTHING, Why.QUEUED, None,
    ),
    "a run is launched": (
        free(run(phase=Phase.LAUNCHING, age_s=90)), NOTHING, Why.COMING_UP, None,
    ),
    "a run was never launched": (
        free(run(phase=Phase.LAUNCHING, age_s=91)), Kind.FAIL_RUN, Why.NEVER_LAUNCHED, "A",
    ),
    "a run has just started": (free(run(age_s=20)), NOTHING, Why.COMING_UP, None),
    "a run's process is gone": (free(run(age_s=21)), Kind.FAIL_RUN, Why.PROCESS_GONE, "A"),
    "a cancelled run's process is gone": (
        free(run(phase=Phase.CANCELING, age_s=21)), Kind.FAIL_RUN, Why.PROCESS_GONE, "A",
    ),
    "a run has given up the lock and ends": (
        let_go(beat(silent_s=60), run()),
        NOTHING, Why.COMING_UP, None,
    ),
    "a run has given up the lock and never ends": (
        let_go(beat(silent_s=61), run()),
        Kind.FAIL_RUN, Why.PROCESS_GONE, "A",
    ),
    "a dead run holds up a queued one": (
        free(run("B", Phase.WAITING, age_s=1), run("A", age_s=21)),
        Kind.FAIL_RUN, Why.PROCESS_GONE, "A",
    ),
    "two runs are queued": (
        free(run("B", Phase.WAITING), run("A", Phase.WAITING)),
        Kind.CANCEL_RUN, Why.SURPLUS, "A",
    ),
    # alive
    "all is well": (held(beat(), run()), NOTHING, Why.HEALTHY, None),
    "it waits for the broker": (
        held(beat(waiting_for="Kafka", stalled_s=9999), run()), NOTHING, Why.WAITING, None,
    ),
    "its record ended while it lives": (held(beat()), NOTHING, Why.ENDING, None),
    "it is being cancelled": (
        held(beat(), run(phase=Phase.CANCELING)), NOTHING, Why.ENDING, None,
    ),
    "the lock was taken a moment ago": (
        Observed(now=NOW, is_locked=True, beat=beat("dead"), runs=(run(age_s=1),)),
        NOTHING, Why.UNKNOWN_HOLDER, None,
    ),
    "the lock is held and nobody ever said by whom": (
        Observed(now=NOW, is_locked=True, runs=(run(age_s=60),)),
        NOTHING, Why.UNKNOWN_HOLDER, None,
    ),
    "its code is older": (
        replace(held(beat(), run()), is_outdated=True), Kind.ASK_TO_END, Why.OUTDATED, None,
    ),
    "its code is older and it waits for the broker": (
        replace(held(beat(waiting_for="Kafka"), run()), is_outdated=True),
        Kind.ASK_TO_END, Why.OUTDATED, None,
    ),
    "its code is older and it hangs": (
        replace(held(beat(silent_s=61), run()), is_outdated=True),
        Kind.ASK_TO_END, Why.SILENT, None,
    ),
    # others
    "the command line streams": (held(beat(CLI), ours=False), NOTHING, Why.NOT_OURS, None),
    "the command line hangs": (
        held(beat(CLI, silent_s=9999), ours=False), NOTHING, Why.NOT_OURS, None,
    ),
    "another instance's run streams": (
        held(beat("X", stalled_s=9999), ours=False), NOTHING, Why.NOT_OURS, None,
    ),
    "the command line streams and a run is queued": (
        held(beat(CLI), run("B", Phase.WAITING), ours=False), Kind.CANCEL_RUN, Why.SURPLUS, "B",
    ),
    "the command line streams and a dead run is on record": (
        held(beat(CLI), run("B"), ours=False), Kind.FAIL_RUN, Why.SURPLUS, "B",
    ),
    # too many
    "a second run is queued": (
        held(beat(), run("B", Phase.WAITING), run()), Kind.CANCEL_RUN, Why.SURPLUS, "B",
    ),
    "a second run starts and will be refused by the lock": (
        held(beat(), run("B", age_s=5), run()), NOTHING, Why.HEALTHY, None,
    ),
    "a second run is on record and has no lock": (
        held(beat(), run("B", age_s=21), run()), Kind.FAIL_RUN, Why.SURPLUS, "B",
    ),
    "a view is refreshed for as long as streams may": (
        held(replace(beat(), refreshing={"games.top": NOW - 180}), run()),
        NOTHING, Why.HEALTHY, None,
    ),
    "a view is stuck, and the streams are not": (
        held(replace(beat(), refreshing={"games.top": NOW - 181}), run()),
        NOTHING, Why.VIEW_STUCK, None,
    ),
    # ill
    "no heartbeat at the limit": (held(beat(silent_s=60), run()), NOTHING, Why.HEALTHY, None),
    "no heartbeat": (held(beat(silent_s=61), run()), Kind.ASK_TO_END, Why.SILENT, None),
    "no progress at the limit": (held(beat(stalled_s=180), run()), NOTHING, Why.HEALTHY, None),
    "no progress": (held(beat(stalled_s=181), run()), Kind.ASK_TO_END, Why.STALLED, None),
    "it waits and has no heartbeat": (
        held(beat(silent_s=61, waiting_for="Kafka"), run()), Kind.ASK_TO_END, Why.SILENT, None,
    ),
    "its record ended and it hangs": (
        held(beat(silent_s=61)), Kind.ASK_TO_END, Why.SILENT, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_has_its_action(name):
    observed, kind, why, run_id = SITUATIONS[name]
    action, _ = look(observed)
    assert (action.kind, action.why, action.run_id) == (kind, why, run_id)


def test_a_process_that_does_not_end_is_killed_after_its_time():
    hung = held(beat(silent_s=61), run())
    action, memory = look(hung)
    assert memory.asked == Asked(process=HOLDER, at=NOW)
    action, memory = look(replace(hung, now=NOW + 20), memory)
    assert (action.kind, action.why) == (Kind.NOTHING, Why.ENDING)
    action, memory = look(replace(hung, now=NOW + 21), memory)
    assert (action.kind, action.why) == (Kind.KILL, Why.STUBBORN)


def test_streams_with_older_code_may_finish_what_they_are_at():
    outdated = replace(held(beat(), run()), is_outdated=True)
    _, memory = look(outdated)
    later = replace(outdated, now=NOW + 100, beat=replace(beat(), at=NOW + 100))
    action, memory = look(later, memory)
    assert action.why is Why.ENDING
    action, _ = look(replace(later, now=NOW + 111), memory)
    assert (action.kind, action.why) == (Kind.KILL, Why.STUBBORN)


def test_another_process_is_not_killed_for_the_one_that_was_asked():
    asked = Memory(asked=Asked(process=replace(HOLDER, start="4"), at=NOW - 60))
    action, memory = look(held(beat(), run()), asked)
    assert (action.why, memory.asked) == (Why.HEALTHY, None)


def test_what_was_asked_is_forgotten_once_the_lock_is_free():
    asked = Memory(asked=Asked(process=HOLDER, at=NOW - 60))
    _, memory = look(free(), asked)
    assert memory.asked is None


def test_who_writes_from_elsewhere_is_left_alone_until_it_renews_nothing_any_more():
    def decided(memory, mark, now):
        writer = Writer(place="host A", mark=mark, lasts_s=30.0)
        return decide(replace(free(), now=now, writer=writer), memory, POLICY)

    action, memory = decided(NEW, "7/1", NOW)
    assert str(action) == "the lake is written from elsewhere: host A"
    for later, mark in ((20, "7/1"), (40, "7/2"), (70, "7/2")):
        action, memory = decided(memory, mark, NOW + later)
        assert (action.kind, action.why) == (NOTHING, Why.ELSEWHERE)
        memory = Memory.from_json(memory.to_json(), boot=memory.boot)
    action, memory = decided(memory, "7/2", NOW + 71)
    assert action.kind is START


def test_deaths_in_a_row_wait_ever_longer():
    assert [delay_s(n, POLICY) for n in (0, 1, 2, 3, 6, 7, 8, 10_000)] == [
        0, 2, 4, 8, 64, 120, 120, 120,
    ]  # fmt: skip


def test_each_death_is_counted_once():
    memory = NEW
    for _ in range(3):
        _, memory = look(free(last_ended=ended()), memory)
    assert memory.backoff == Backoff(failures=1, counted_run="dead", not_before=NOW + 1)


def test_a_second_death_soon_after_doubles_the_pause():
    memory = Memory(backoff=Backoff(failures=1, counted_run="first"))
    _, memory = look(free(last_ended=ended(run_id="second", ago_s=0)), memory)
    assert memory.backoff == Backoff(failures=2, counted_run="second", not_before=NOW + 4)


def test_a_death_after_a_healthy_life_starts_the_count_anew():
    memory = Memory(backoff=Backoff(failures=5, counted_run="first"))
    _, memory = look(free(last_ended=ended(run_id="b", lived_s=300, ago_s=0)), memory)
    assert memory.backoff.failures == 1


def test_a_cancelled_run_clears_the_count():
    memory = Memory(backoff=Backoff(failures=5, counted_run="first", not_before=NOW + 60))
    action, memory = look(free(last_ended=ended(Ending.STOPPED, run_id="b")), memory)
    assert (action.kind, memory.backoff) == (Kind.START, Backoff(counted_run="b"))


BEGUN = Backoff(failures=3, counted_run="dead", not_before=NOW + 8)


@pytest.mark.parametrize("step_s", [-86_400, -10, 3600])
def test_no_wait_depends_on_who_sets_the_clock_of_the_wall(step_s):
    """Records are by that clock; what they say of a death is older or younger by the step."""
    death = ended(ago_s=max(0.0, 1.0 + step_s))
    waits = Memory(backoff=Backoff(failures=2, counted_run="before"))
    action, memory = look(free(last_ended=death), waits)
    wait_s = memory.backoff.not_before - NOW
    assert wait_s <= delay_s(3, POLICY)
    action, _ = look(replace(free(last_ended=death), now=NOW + 8), memory)
    assert action.kind is Kind.START


@pytest.mark.parametrize("not_before", [NOW + 86_401, NOW + 1e9])
def test_no_wait_is_longer_than_the_longest(not_before):
    memory = Memory(backoff=replace(BEGUN, not_before=not_before))
    assert look(free(last_ended=ended()), memory)[0].kind is Kind.START
    memory = Memory(backoff=replace(BEGUN, not_before=NOW + POLICY.longest_delay_s))
    assert look(free(last_ended=ended()), memory)[0].why is Why.BACKING_OFF


def test_a_run_is_given_its_time_from_when_it_is_first_seen():
    """Whatever its record says of its age: a run that is on its way is not failed for a clock."""
    launching = RunFact(run_id="A", phase=Phase.LAUNCHING)
    assert decide(free(launching), NEW, POLICY)[0].why is Why.COMING_UP
    seen = NEW.see([launching], NOW - 91)
    assert decide(free(launching), seen, POLICY)[0].why is Why.NEVER_LAUNCHED


def test_a_reason_is_said_with_its_detail():
    action = Action(kind=Kind.NOTHING, why=Why.HEALTHY, detail="pid 7")
    assert str(action) == "the streams are running: pid 7"
    assert str(replace(action, detail="")) == "the streams are running"


seconds = st.floats(0, 1000)

observations = st.builds(
    Observed,
    now=st.just(NOW),
    is_locked=st.booleans(),
    beat=st.builds(
        beat, st.sampled_from(["A", "B", CLI, "X"]), silent_s=seconds, stalled_s=seconds
    ),
    is_beater_alive=st.booleans(),
    is_beater_ours=st.booleans(),
    runs=st.lists(
        st.builds(run, st.sampled_from("ABCD"), st.sampled_from(Phase), age_s=seconds),
        unique_by=lambda fact: fact.run_id,
    ).map(tuple),
)


@given(observations)
def test_nothing_is_started_beside_a_lock_or_a_run(observed):
    action, _ = look(observed)
    if action.kind is Kind.START:
        assert not observed.is_locked
        assert not observed.runs


@given(observations)
def test_only_a_living_holder_of_ours_is_ever_signalled(observed):
    action, _ = look(observed)
    if action.kind in {Kind.ASK_TO_END, Kind.KILL}:
        assert observed.is_locked
        assert observed.is_beater_alive
        assert observed.is_beater_ours
        assert observed.beat.owner != CLI


@given(observations)
def test_the_record_of_a_living_holder_is_never_failed(observed):
    action, _ = look(observed)
    if observed.is_locked and observed.is_beater_alive:
        assert action.run_id != observed.beat.owner


@pytest.mark.parametrize(
    ("phase", "is_process_alive", "is_overdue", "is_gone"),
    [
        (Phase.WAITING, None, True, False),
        (Phase.LAUNCHING, None, False, False),
        (Phase.LAUNCHING, None, True, True),
        (Phase.RUNNING, None, True, False),  # it has not said its process yet
        (Phase.RUNNING, True, True, False),
        (Phase.RUNNING, False, False, True),
        (Phase.CANCELING, False, False, True),
    ],
)
def test_a_run_is_lost_with_its_process_or_when_it_is_never_launched(
    phase, is_process_alive, is_overdue, is_gone
):
    lost = is_lost(phase, is_process_alive=is_process_alive, is_overdue=is_overdue)
    assert lost is is_gone
