"""The supervisor's eyes and hands on this machine: lock, heartbeat, processes. Decides nothing."""

import contextlib
import signal

import psutil

from lake_assets.lake.state import Heartbeat, is_locked, read_heartbeat
from lake_assets.settings.schema import Settings
from lake_assets.supervision.facts import Action, Kind, Observed, Policy

_SAME_START_S = 2.0
"""Seconds by which two readings of one process's start may differ, since Linux derives it from a
boot time that moves when the clock is set. No pid comes round again that fast."""

_SIGNALS = {Kind.ASK_TO_END: signal.SIGTERM, Kind.KILL: signal.SIGKILL}


def look(settings: Settings, *, now: float) -> Observed:
    """What the lake and the process table say; what Dagster knows is for the caller to add."""
    # The lock first: a heartbeat read before it could be that of the holder's predecessor.
    locked = is_locked(settings.state_dir)
    beat = read_heartbeat(settings.state_dir)
    alive = beat is not None and is_alive(beat.pid, beat.process_started_at)
    return Observed(now=now, is_locked=locked, beat=beat, is_beater_alive=alive)


def policy_of(settings: Settings) -> Policy:
    """The patience that settings ask for."""
    return Policy(stall_after_s=settings.stream.stall_after_s)


def signal_holder(action: Action, beat: Heartbeat) -> bool:
    """Send what `action` asks for to the process of `beat`; False if it is gone."""
    return send(_SIGNALS[action.kind], beat.pid, beat.process_started_at)


def send(number: signal.Signals, pid: int, started_at: float) -> bool:
    """Signal a process unless its pid belongs to another by now; False if it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if abs(process.create_time() - started_at) <= _SAME_START_S:
            process.send_signal(number)
            return True
    return False


def is_alive(pid: int, started_at: float) -> bool:
    """Whether this very process lives; a zombie that nobody waits for does not."""
    try:
        process = psutil.Process(pid)
        is_same = abs(process.create_time() - started_at) <= _SAME_START_S
        return is_same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def own_process() -> str:
    """This process, in words that `is_process_alive` understands in any other."""
    process = psutil.Process()
    return f"{process.pid}@{process.create_time()}"


def is_process_alive(name: str) -> bool:
    """Whether the process lives that `own_process` named."""
    pid, _, started_at = name.partition("@")
    return is_alive(int(pid), float(started_at))
