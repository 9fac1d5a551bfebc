"""Deciding about streams on another machine or in another container, where no pid counts. Pure.

They live while what they write into the lake changes, by the clock of whoever watches: their
heartbeat where both share the lake's state, else the lake's lease. None can be signalled: their
run's record says that they are to end, which they look at every few seconds.
"""

from lake_assets.model.heartbeat import Heartbeat
from lake_assets.supervision.facts import CLI, Action, Kind, Observed, Phase, Policy, RunFact, Why
from lake_assets.supervision.sensor_cursor import Memory


def runs_elsewhere(observed: Observed) -> bool:
    """Whether a run of the streams works where its lock cannot be seen from here."""
    return any(run.is_elsewhere and run.phase is Phase.RUNNING for run in observed.runs)


def watch_far(far: Heartbeat, observed: Observed, memory: Memory, policy: Policy) -> Action:
    """Judge whoever holds the lake's lock from elsewhere, by its heartbeat.

    Args:
        far: the last one.
        observed: the facts.
        memory: has watched the heartbeat.
        policy: how patient to be.
    """
    name = f"pid {far.pid} elsewhere, {far.owner}"
    if far.owner == CLI or not observed.is_beater_ours:
        return Action(kind=Kind.NOTHING, why=Why.NOT_OURS, detail=name)
    if observed.is_run_of_feed:
        return Action(kind=Kind.NOTHING, why=Why.RUN_OF_FEED, detail=f"run {far.owner}")
    phases = {run.run_id: run.phase for run in observed.runs}
    phase = phases.get(far.owner)
    if phase is not Phase.RUNNING:
        ending = Why.ENDING if phase is not None else Why.HELD_ELSEWHERE
        return Action(kind=Kind.NOTHING, why=ending, detail=name)
    why = _fault(far, memory.writer_age_s(observed.now), policy)
    if why is None and observed.is_outdated:
        why = Why.OUTDATED
    if why is not None:
        return Action(kind=Kind.END_BY_RECORD, why=why, run_id=far.owner, detail=name)
    if far.waiting_for is not None:
        return Action(kind=Kind.NOTHING, why=Why.WAITING, detail=far.waiting_for)
    return Action(kind=Kind.NOTHING, why=Why.RUNS_ELSEWHERE, detail=name)


def _fault(far: Heartbeat, silent_s: float, policy: Policy) -> Why | None:
    if silent_s > policy.silent_after_s:
        return Why.SILENT
    # Both by its own clock.
    if far.waiting_for is None and far.at - far.progressed_at > policy.stall_after_s:
        return Why.STALLED
    return None


def judge_far_run(run: RunFact, observed: Observed, memory: Memory) -> Action:
    """Judge a run that works elsewhere, whose lake's lock and heartbeat are there, too.

    Args:
        run: its process is, or was, running.
        observed: the facts; nobody here holds the lock.
        memory: has watched who has the lake's lease.
    """
    name, writer = f"run {run.run_id}", observed.writer
    if run.is_outdated and run.phase is Phase.RUNNING:
        kind, detail = Kind.END_BY_RECORD, f"{name}, elsewhere"
        return Action(kind=kind, why=Why.OUTDATED, run_id=run.run_id, detail=detail)
    if writer is None or writer.boot != run.boot:
        return Action(kind=Kind.NOTHING, why=Why.BEGINS_ELSEWHERE, detail=name)
    silent_s = memory.writer_age_s(observed.now)
    if silent_s > writer.lasts_s:
        detail = f"{name} at {writer.place}, for {silent_s:.0f} s"
        return Action(kind=Kind.FAIL_RUN, why=Why.LEASE_OVER, run_id=run.run_id, detail=detail)
    detail = f"{name} at {writer.place}"
    return Action(kind=Kind.NOTHING, why=Why.RUNS_ELSEWHERE, detail=detail)
