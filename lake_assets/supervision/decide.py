"""Deciding what the supervisor does about the streams: facts in, action out. Pure.

One action a look: several faults are repaired in several looks, each seen by the next. A run counts
as alive by the lake's lock alone, which the kernel frees however its holder dies; what Dagster's
records say is corrected to that.
"""

from dataclasses import replace

from lake_assets.model.heartbeat import Heartbeat
from lake_assets.supervision.facts import (
    CLI,
    Action,
    Ending,
    Kind,
    Observed,
    Phase,
    Policy,
    RunFact,
    Why,
)
from lake_assets.supervision.far_streams import judge_far_run, watch_far
from lake_assets.supervision.sensor_cursor import Asked, Backoff, Memory


def decide(observed: Observed, memory: Memory, policy: Policy) -> tuple[Action, Memory]:
    """Compare what runs with what should: exactly one process, alive and getting on.

    Args:
        observed: the facts; clock and process table are among them.
        memory: what the last decision returned, after it saw the runs of `observed`.
        policy: how patient to be.

    Returns:
        What to do, and the memory for the next decision.
    """
    holder = observed.beat if observed.is_locked and observed.is_beater_alive else None
    far = observed.far_beat if observed.is_locked else None
    known = holder or far
    owner = known.owner if known else None
    for run in observed.runs:
        if run.run_id != owner and (repairing := _repairing(run, observed, memory, policy)):
            return repairing, memory
    if far is not None:
        memory = memory.watch(f"{far.owner}/{far.at}", observed.now)
        return watch_far(far, observed, memory, policy), memory
    if observed.is_locked:
        action, asked = _watch(holder, observed, memory.asked, policy)
        return action, replace(memory, asked=asked)
    return _without_lock(observed, replace(memory, asked=None), policy)


def _without_lock(observed: Observed, memory: Memory, policy: Policy) -> tuple[Action, Memory]:
    """Nobody of this machine has the lock: await who is on the way, or start somebody."""
    if observed.writer is not None:
        memory = memory.watch(observed.writer.mark, observed.now)
    if observed.runs:
        return _on_its_way(observed.runs[0], observed, memory, policy), memory
    if not observed.is_wanted or observed.stops:
        why = Why.STOPPED if observed.is_wanted else Why.UNWANTED
        return Action(kind=Kind.NOTHING, why=why, detail=observed.stops), memory
    writer = observed.writer
    # Whoever starts later waits as long once more, and takes the lease from a dead one.
    if writer is not None and memory.writer_age_s(observed.now) <= writer.lasts_s:
        return Action(kind=Kind.NOTHING, why=Why.ELSEWHERE, detail=writer.place), memory
    return _start(observed, memory, policy)


def delay_s(failures: int, policy: Policy) -> float:
    """Pause before a restart, doubled for each death in a row: 2, 4, 8, … 120, 120 s."""
    if failures <= 0:
        return 0.0
    # The exponent is bounded so that a year of deaths does not overflow a float.
    return min(policy.first_delay_s * 2.0 ** min(failures - 1, 32), policy.longest_delay_s)


def is_lost(phase: Phase, *, is_process_alive: bool | None, is_overdue: bool) -> bool:
    """Whether nothing works on an unfinished run of any job any more.

    Args:
        phase: how far its record has come.
        is_process_alive: whether the process lives that said it works on the run; None if none has.
        is_overdue: whether a run that is being launched has had its time for that.
    """
    if phase is Phase.LAUNCHING:
        return is_overdue
    return phase in {Phase.RUNNING, Phase.CANCELING} and is_process_alive is False


def _repairing(run: RunFact, observed: Observed, memory: Memory, policy: Policy) -> Action | None:
    """What a run's record needs that does not hold the lock, if anything."""
    age_s = memory.age_s(run.run_id, observed.now)
    detail = f"run {run.run_id}, seen for {age_s:.0f} s"
    if run.is_elsewhere and run.phase is not Phase.WAITING:
        return None  # its launcher knows whether it lives, and Dagster's run monitoring asks it
    if run.phase is Phase.WAITING:
        is_surplus = observed.is_locked or run is not observed.runs[0]
        if is_surplus:
            return Action(kind=Kind.CANCEL_RUN, why=Why.SURPLUS, run_id=run.run_id, detail=detail)
        return None
    if run.phase is Phase.LAUNCHING:
        why, patience_s = Why.NEVER_LAUNCHED, policy.launch_within_s
    else:
        why, patience_s = Why.PROCESS_GONE, policy.lock_within_s
    if age_s <= patience_s or _may_be_silent_holder(observed):
        return None
    if _is_finishing(run, observed, policy):
        return None
    why = Why.SURPLUS if observed.is_locked else why
    return Action(kind=Kind.FAIL_RUN, why=why, run_id=run.run_id, detail=detail)


def _on_its_way(run: RunFact, observed: Observed, memory: Memory, policy: Policy) -> Action:
    """What is done about a run that is to take the lock, or does all it does elsewhere."""
    if run.is_elsewhere and run.phase in {Phase.RUNNING, Phase.CANCELING}:
        return judge_far_run(run, observed, memory)
    age_s = memory.age_s(run.run_id, observed.now)
    is_stuck = run.phase is Phase.WAITING and age_s > policy.queued_within_s
    why = Why.QUEUED if is_stuck else Why.COMING_UP
    return Action(kind=Kind.NOTHING, why=why, detail=run.run_id)


def _is_finishing(run: RunFact, observed: Observed, policy: Policy) -> bool:
    """Whether a run's process has given up the lock a moment ago and is about to end its record."""
    beat = observed.beat
    if beat is None or beat.owner != run.run_id or not observed.is_beater_alive:
        return False
    return observed.now - beat.at <= policy.silent_after_s


def _may_be_silent_holder(observed: Observed) -> bool:
    """Whether somebody holds the lock of whom nothing is known: it may be any run."""
    return observed.is_locked and not (observed.beat and observed.is_beater_alive)


def _watch(
    holder: Heartbeat | None, observed: Observed, asked: Asked | None, policy: Policy
) -> tuple[Action, Asked | None]:
    """Judge whoever holds the lock."""
    if holder is None:
        return Action(kind=Kind.NOTHING, why=Why.UNKNOWN_HOLDER), None
    name = f"pid {holder.pid}, {holder.owner}"
    if holder.owner == CLI or not observed.is_beater_ours:
        return Action(kind=Kind.NOTHING, why=Why.NOT_OURS, detail=name), None
    if asked and asked.process == holder.process:
        within_s = policy.end_within_s if asked.is_at_fault else policy.finish_within_s
        if observed.now - asked.at <= within_s:
            return Action(kind=Kind.NOTHING, why=Why.ENDING, detail=name), asked
        return Action(kind=Kind.KILL, why=Why.STUBBORN, detail=name), asked
    fault = _fault(holder, observed.now, policy)
    if fault or observed.is_outdated:
        action = Action(kind=Kind.ASK_TO_END, why=fault or Why.OUTDATED, detail=name)
        asked = Asked(process=holder.process, at=observed.now, is_at_fault=fault is not None)
        return action, asked
    return _praise(holder, observed, policy), None


def _fault(holder: Heartbeat, now: float, policy: Policy) -> Why | None:
    if now - holder.at > policy.silent_after_s:
        return Why.SILENT
    if holder.waiting_for is None and now - holder.progressed_at > policy.stall_after_s:
        return Why.STALLED
    return None


def _praise(holder: Heartbeat, observed: Observed, policy: Policy) -> Action:
    if observed.is_run_of_feed:
        return Action(kind=Kind.NOTHING, why=Why.RUN_OF_FEED, detail=f"run {holder.owner}")
    phases = {run.run_id: run.phase for run in observed.runs}
    if phases.get(holder.owner) is not Phase.RUNNING:
        # Its record ended or is ending: it sees that itself within seconds, and goes.
        return Action(kind=Kind.NOTHING, why=Why.ENDING, detail=f"pid {holder.pid}")
    if holder.waiting_for is not None:
        return Action(kind=Kind.NOTHING, why=Why.WAITING, detail=holder.waiting_for)
    ages = {view: observed.now - since for view, since in holder.refreshing.items()}
    stuck = [f"{v} for {age:.0f} s" for v, age in ages.items() if age > policy.stall_after_s]
    if stuck:
        return Action(kind=Kind.NOTHING, why=Why.VIEW_STUCK, detail=", ".join(stuck))
    return Action(kind=Kind.NOTHING, why=Why.HEALTHY, detail=f"pid {holder.pid}")


def _start(observed: Observed, memory: Memory, policy: Policy) -> tuple[Action, Memory]:
    """Nothing runs and nothing is on its way: start, now or later."""
    backoff = _count_death(observed, memory.backoff, policy)
    memory = replace(memory, backoff=backoff)
    if _may_server_end(observed, policy):
        return Action(kind=Kind.NOTHING, why=Why.SERVER_ENDS), memory
    wait_s = backoff.not_before - observed.now
    # A wait longer than any that is ever asked for is a clock's doing, and no reason to wait.
    if 0 < wait_s <= policy.longest_delay_s:
        detail = f"{backoff.failures} in a row, {wait_s:.0f} s to go"
        return Action(kind=Kind.NOTHING, why=Why.BACKING_OFF, detail=detail), memory
    return Action(kind=Kind.START, why=Why.ABSENT), memory


def _may_server_end(observed: Observed, policy: Policy) -> bool:
    """Whether streams that are started now may be ended at once with the code server that asks."""
    ended = observed.last_ended
    if ended is None or not ended.is_by_others or ended.is_ahead:
        return False
    return ended.ended_ago_s < min(policy.server_ends_within_s, observed.loaded_ago_s)


def _count_death(observed: Observed, backoff: Backoff, policy: Policy) -> Backoff:
    """Take account of the newest finished run, once."""
    ended = observed.last_ended
    if ended is None or ended.run_id == backoff.counted_run:
        return backoff
    if ended.ending is Ending.STOPPED:
        return Backoff(counted_run=ended.run_id)
    was_healthy = ended.lived_s >= policy.healthy_after_s
    failures = 1 if was_healthy else backoff.failures + 1
    not_before = observed.now + delay_s(failures, policy) - ended.ended_ago_s
    return Backoff(failures=failures, counted_run=ended.run_id, not_before=not_before)
