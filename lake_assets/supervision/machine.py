"""The supervisor's eyes and hands on this machine: lock, heartbeat, processes. Decides nothing."""

import signal

from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime.processes import find_process, is_alive
from lake_assets.settings.schema import Settings
from lake_assets.state.files import current_heartbeat, is_locked
from lake_assets.supervision.facts import Action, Kind, Observed, Policy

_SIGNALS = {Kind.ASK_TO_END: signal.SIGTERM, Kind.KILL: signal.SIGKILL}


def look(settings: Settings, *, now: float) -> Observed:
    """What the lake and the process table say; what Dagster knows is for the caller to add."""
    # The lock first: a heartbeat read before it could be that of the holder's predecessor.
    locked = is_locked(settings.state_dir)
    beat = current_heartbeat(settings.state_dir)
    if beat is None:
        return Observed(now=now, is_locked=locked)
    return Observed(now=now, is_locked=locked, beat=beat, is_beater_alive=is_alive(beat.process))


def policy_of(settings: Settings) -> Policy:
    """The patience that settings ask for."""
    return Policy(stall_after_s=settings.stream.stall_after_s)


def signal_holder(action: Action, beat: Heartbeat) -> bool:
    """Send what `action` asks for to the process of `beat`; False if it is gone."""
    process = find_process(beat.process)
    if process is None:
        return False
    process.send_signal(_SIGNALS[action.kind])
    return True
