import signal
from dataclasses import replace
from pathlib import Path

import pytest

from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime.processes import is_alive, process_of
from lake_assets.settings.schema import StorageSettings, StreamSettings
from lake_assets.state.files import own_heartbeat, streams_lock, write_heartbeat
from lake_assets.state.lease import LakeLease
from lake_assets.supervision.facts import Action, Kind, Observed, Why
from lake_assets.supervision.machine import look, policy_of, signal_holder

END = Action(kind=Kind.ASK_TO_END, why=Why.SILENT)
KILL = Action(kind=Kind.KILL, why=Why.STUBBORN)


def of_process(pid: int) -> Heartbeat:
    """A heartbeat as the process with this pid would write it."""
    beat = own_heartbeat("A", progressed_at=1.0, waiting_for=None)
    return replace(beat, process=process_of(pid))


def test_an_empty_lake_is_unlocked_and_silent(settings):
    assert look(settings, now=5.0) == Observed(now=5.0, is_locked=False)


def test_who_writes_a_bucket_s_lake_from_elsewhere_is_seen(settings, s3, bucket, tmp_path):
    storage = StorageSettings(options=s3.options)
    own = {"lake": Path(f"s3://{bucket}/lake"), "storage": storage}
    settings = settings.model_copy(update=own)
    root, options = settings.lake_root, settings.storage.secrets
    assert look(settings, now=5.0).writer is None
    with LakeLease(root=root, options=options, state_dir=settings.state_dir).held(lambda _: False):
        assert look(settings, now=5.0).writer is None
    with LakeLease(root=root, options=options, state_dir=tmp_path / "b").held(lambda _: False):
        writer = look(settings, now=5.0).writer
        assert writer.place.endswith(f"state folder {tmp_path / 'b'}")
        assert writer.mark.startswith("2/")
        s3.refuse("GET", "_lease.json", "AccessDenied")
        try:
            assert look(settings, now=5.0).writer is None
        finally:
            s3.forgive()
    assert look(settings, now=5.0).writer is None


def test_a_living_holder_is_seen(settings):
    with streams_lock(settings.state_dir):
        beat = own_heartbeat("A", progressed_at=1.0, waiting_for=None)
        write_heartbeat(settings.state_dir, beat)
        seen = look(settings, now=5.0)
    assert seen == Observed(now=5.0, is_locked=True, beat=beat, is_beater_alive=True)


def test_a_heartbeat_of_another_machine_or_boot_is_known_as_such(settings, sleeper):
    """As in a lake that was copied, lies on NFS, or was streamed to when the power went."""
    beat = of_process(sleeper.pid)
    with streams_lock(settings.state_dir):
        far = replace(beat, process=replace(beat.process, boot="another"))
        write_heartbeat(settings.state_dir, far)
        assert look(settings, now=5.0) == Observed(now=5.0, is_locked=True, far_beat=far)


def test_patience_comes_from_settings(settings):
    stream = StreamSettings(stall_after_s=7)
    assert policy_of(settings.model_copy(update={"stream": stream})).stall_after_s == 7


def test_a_process_is_asked_to_end(sleeper):
    assert signal_holder(END, of_process(sleeper.pid))
    assert sleeper.wait(10) in {None, -signal.SIGTERM}


def test_a_stubborn_process_is_killed(sleeper):
    beat = of_process(sleeper.pid)
    assert signal_holder(KILL, beat)
    sleeper.wait(10)
    assert not is_alive(beat.process)
    assert not signal_holder(KILL, beat)


@pytest.mark.parametrize("other", [{"start": "0"}, {"boot": "another"}], ids=["start", "boot"])
def test_a_process_that_took_over_a_pid_is_left_alone(sleeper, other):
    beat = of_process(sleeper.pid)
    assert not signal_holder(KILL, replace(beat, process=replace(beat.process, **other)))
    assert is_alive(beat.process)
