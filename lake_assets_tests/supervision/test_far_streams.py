from dataclasses import replace

import pytest

from lake_assets.supervision.decide import decide
from lake_assets.supervision.facts import CLI, Kind, Observed, Phase, RunFact, Why, Writer
from lake_assets.supervision.far_streams import runs_elsewhere
from lake_assets.supervision.sensor_cursor import Memory
from lake_assets_tests.supervision.situations import HOLDER, NEW, NOW, POLICY, beat

THERE = replace(HOLDER, boot="there")


def far(owner="A", *, at=5.0, stalled_s=0.0, waiting_for=None):
    """A heartbeat by a clock that says nothing here."""
    sent = beat(owner, waiting_for=waiting_for)
    return replace(sent, process=THERE, at=at, progressed_at=at - stalled_s)


def run(phase=Phase.RUNNING, *, is_outdated=False, run_id="A"):
    return RunFact(
        run_id=run_id, phase=phase, boot="there", is_elsewhere=True, is_outdated=is_outdated
    )


def held(by, *runs, now=NOW, is_outdated=False, ours=True):
    """The state folder is shared: the lock is seen, the process is not."""
    return Observed(
        now=now,
        is_locked=True,
        far_beat=by,
        is_beater_ours=ours,
        is_outdated=is_outdated,
        runs=runs,
    )


def leased(mark, *runs, now=NOW, boot="there"):
    """It is not: only the lease in the lake is."""
    writer = Writer(place="pod-7, state folder /state", mark=mark, lasts_s=30.0, boot=boot)
    return Observed(now=now, is_locked=False, writer=writer, runs=runs)


def in_turn(*every):
    """The actions of several looks, each with the memory of the one before."""
    memory, found = NEW, []
    for observed in every:
        action, memory = decide(observed, memory, POLICY)
        found.append((action.kind, action.why))
    return found


HEALTHY = (Kind.NOTHING, Why.RUNS_ELSEWHERE)


def test_streams_whose_heartbeat_changes_are_well_however_old_their_clock_makes_it_look():
    looks = [held(far(at=5.0 + n), run(), now=NOW + 500 * n) for n in range(4)]
    assert in_turn(*looks) == [HEALTHY] * 4


def test_streams_that_are_silent_by_our_own_clock_are_ended_by_their_record():
    silent = [held(far(), run(), now=NOW + after_s) for after_s in (0, 59, 61)]
    assert in_turn(*silent) == [HEALTHY, HEALTHY, (Kind.END_BY_RECORD, Why.SILENT)]


def test_streams_that_stall_by_their_own_clock_are_ended_by_their_record():
    assert in_turn(held(far(stalled_s=179), run())) == [HEALTHY]
    assert in_turn(held(far(stalled_s=181), run())) == [(Kind.END_BY_RECORD, Why.STALLED)]
    waits = far(stalled_s=999, waiting_for="a broker")
    assert in_turn(held(waits, run())) == [(Kind.NOTHING, Why.WAITING)]


def test_streams_with_older_code_are_ended_by_their_record_once():
    looks = (held(far(), run(), is_outdated=True), held(far(), run(Phase.CANCELING)))
    assert in_turn(*looks) == [(Kind.END_BY_RECORD, Why.OUTDATED), (Kind.NOTHING, Why.ENDING)]


def test_a_lock_that_outlives_its_run_is_told_of():
    assert in_turn(held(far())) == [(Kind.NOTHING, Why.HELD_ELSEWHERE)]


@pytest.mark.parametrize("by", [held(far(CLI), ours=False), held(far("X"), ours=False)])
def test_streams_of_others_are_left_alone(by):
    assert in_turn(by) == [(Kind.NOTHING, Why.NOT_OURS)]


def test_a_run_whose_lease_is_renewed_is_well():
    looks = [leased(f"1/{n}", run(), now=NOW + 500 * n) for n in range(4)]
    assert in_turn(*looks) == [HEALTHY] * 4
    assert runs_elsewhere(looks[0])


def test_a_run_whose_lease_is_not_renewed_has_failed():
    looks = [leased("1/1", run(), now=NOW + after_s) for after_s in (0, 29, 31)]
    assert in_turn(*looks) == [HEALTHY, HEALTHY, (Kind.FAIL_RUN, Why.LEASE_OVER)]


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.CANCELING, Phase.LAUNCHING])
def test_a_run_without_the_lease_is_its_launchers_to_judge(phase):
    """It fetches an image, starts Spark, waits for a broker; or its machine is gone."""
    nobody = Observed(now=NOW, is_locked=False, runs=(run(phase),))
    later = replace(nobody, now=NOW + 3600)
    others = leased("1/1", run(phase), boot="a third", now=NOW + 7200)
    assert {kind for kind, _ in in_turn(nobody, later, others)} == {Kind.NOTHING}


def test_a_run_with_older_code_is_ended_though_its_lock_cannot_be_seen():
    looks = (
        leased("1/1", run(is_outdated=True)),
        leased("1/2", run(Phase.CANCELING, is_outdated=True)),
    )
    assert in_turn(*looks) == [(Kind.END_BY_RECORD, Why.OUTDATED), HEALTHY]


def test_after_it_nothing_is_started_before_its_lease_is_over():
    looks = [leased("1/1", now=NOW + after_s) for after_s in (0, 29, 31)]
    assert in_turn(*looks) == [
        (Kind.NOTHING, Why.ELSEWHERE),
        (Kind.NOTHING, Why.ELSEWHERE),
        (Kind.START, Why.ABSENT),
    ]


def test_where_nothing_is_known_of_the_past_the_first_look_decides_nothing():
    action, memory = decide(leased("9/9", run()), Memory(), POLICY)
    assert (action.kind, memory.writer) == (Kind.NOTHING, ("9/9", NOW))
