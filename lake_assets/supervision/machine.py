"""The supervisor's eyes and hands on this machine: lock, heartbeat, processes. Decides nothing."""

import signal
from dataclasses import replace

from lake_assets.errors import LakeError
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime.processes import boot_id, find_process, is_alive
from lake_assets.settings.schema import Settings
from lake_assets.state.files import is_locked, read_heartbeat
from lake_assets.supervision.facts import Action, Kind, Observed, Policy, Writer

_SIGNALS = {Kind.ASK_TO_END: signal.SIGTERM, Kind.KILL: signal.SIGKILL}


def look(settings: Settings, *, now: float) -> Observed:
    """What the lake and the process table say; what Dagster knows is for the caller to add."""
    # The lock first: a heartbeat read before it could be that of the holder's predecessor.
    locked = is_locked(settings.state_dir)
    beat = read_heartbeat(settings.state_dir)
    writer = None if locked else _writer_elsewhere(settings)
    seen = Observed(now=now, is_locked=locked, writer=writer)
    if beat is None:
        return seen
    if beat.process.boot != boot_id():
        return replace(seen, far_beat=beat)
    return replace(seen, beat=beat, is_beater_alive=is_alive(beat.process))


def _writer_elsewhere(settings: Settings) -> Writer | None:
    if settings.lake_root.is_local:
        return None
    # Loaded only for buckets, as their store is.
    from lake_assets.state.lease import LakeLease  # noqa: PLC0415

    root, options = settings.lake_root, settings.storage.secrets
    try:
        found = LakeLease(root=root, options=options, state_dir=settings.state_dir).elsewhere()
    except LakeError:
        return None  # streams that are started now say what is wrong with the store
    if found is None:
        return None
    return Writer(
        place=found.place,
        mark=f"{found.token}/{found.beat}",
        lasts_s=found.lasts_s,
        boot=found.boot,
    )


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
