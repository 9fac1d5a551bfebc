"""What the supervisor may find, in few words."""

from dataclasses import dataclass, replace

from lake_assets.model.heartbeat import Heartbeat
from lake_assets.model.processes import ProcessId
from lake_assets.supervision.decide import decide
from lake_assets.supervision.facts import Action, EndedRun, Ending, Observed, Phase, Policy, RunFact
from lake_assets.supervision.sensor_cursor import Memory, Sighting

NOW = 1_000_000.0
POLICY = Policy(stall_after_s=180.0)
NEW = Memory()
HOLDER = ProcessId(boot="now", pid=7, start="5")


def beat(
    owner: str = "A",
    *,
    silent_s: float = 1.0,
    stalled_s: float = 1.0,
    waiting_for: str | None = None,
) -> Heartbeat:
    return Heartbeat(
        process=HOLDER,
        owner=owner,
        began_at=NOW - 9999,
        at=NOW - silent_s,
        progressed_at=NOW - stalled_s,
        waiting_for=waiting_for,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenRun(RunFact):
    """A run, and for how long the supervisor has seen it in its phase."""

    age_s: float


def run(run_id: str = "A", phase: Phase = Phase.RUNNING, *, age_s: float = 600.0) -> SeenRun:
    return SeenRun(run_id=run_id, phase=phase, age_s=age_s)


def look(observed: Observed, memory: Memory = NEW) -> tuple[Action, Memory]:
    """A decision of a supervisor that has seen the runs before."""
    for fact in observed.runs:
        assert isinstance(fact, SeenRun)
        seen = Sighting(run_id=fact.run_id, phase=fact.phase, since=observed.now - fact.age_s)
        memory = replace(memory, sightings=(*memory.sightings, seen))
    return decide(observed, memory, POLICY)


def held(by: Heartbeat, *runs: RunFact, ours: bool = True) -> Observed:
    """The lock is held by a living process that says so."""
    return Observed(
        now=NOW,
        is_locked=True,
        beat=by,
        is_beater_alive=True,
        is_beater_ours=ours,
        runs=runs,
    )


def free(*runs: RunFact, last_ended: EndedRun | None = None) -> Observed:
    """Nobody holds the lock; the last heartbeat is a dead process's."""
    return Observed(
        now=NOW,
        is_locked=False,
        beat=beat("dead", silent_s=9.0),
        runs=runs,
        last_ended=last_ended,
    )


def let_go(by: Heartbeat, *runs: RunFact) -> Observed:
    """Nobody holds the lock, and its last holder still lives."""
    return Observed(now=NOW, is_locked=False, beat=by, is_beater_alive=True, runs=runs)


def ended(
    ending: Ending = Ending.DIED,
    *,
    run_id: str = "dead",
    lived_s: float = 10.0,
    ago_s: float = 1.0,
) -> EndedRun:
    return EndedRun(run_id=run_id, ending=ending, lived_s=lived_s, ended_ago_s=ago_s, ended_at=0.0)
