"""Streams in real namespaces of their own, as a pod's, seen and ended by the supervisor."""

import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status
from dagster._core.remote_origin import RemoteJobOrigin

from lake_assets.defs.code_version import CODE, Asker
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.processes import REPLACED, fail_lost_runs
from lake_assets.defs.supervision import act, observe
from lake_assets.runtime.processes import boot_id
from lake_assets.state.lake_id import lake_id
from lake_assets.supervision.decide import decide
from lake_assets.supervision.facts import Kind, Policy, Why
from lake_assets.supervision.sensor_cursor import Memory
from lake_assets_tests.defs.origins import REPOSITORY
from lake_assets_tests.defs.pods import use_pods
from lake_assets_tests.e2e.dev import wait_for

POLICY = Policy(stall_after_s=180.0)


@dg.job
def streams():
    """Stands for the streams' job."""


_FAR = """
import sys, time, dagster as dg
from lake_assets.defs.processes import Fence, note_process
from lake_assets.settings.schema import Settings
from lake_assets.state.files import streams_lock
from lake_assets.state.heartbeat import HeartbeatThread, Progress

settings, run_id = Settings.model_validate_json(sys.argv[1]), sys.argv[2]
progress = lambda: Progress(progressed_at=time.monotonic())
with (
    dg.DagsterInstance.local_temp(sys.argv[3]) as instance,
    streams_lock(settings.state_dir),
    HeartbeatThread(settings.state_dir, run_id, progress, every_s=0.1),
):
    note_process(instance, run_id, sys.argv[4])
    fence = Fence(instance, run_id)
    try:
        while True:
            fence.check()
            time.sleep(0.1)
    except dg.Failure as end:
        print(end.description)
"""

_UNSHARE = [
    "unshare",
    "--user",
    "--map-root-user",
    "--pid",
    "--uts",
    "--mount-proc",
    "--kill-child",
]


@pytest.fixture
def kept(tmp_path):
    """An instance with files, which another process opens as well."""
    folder = tmp_path / "dagster"
    folder.mkdir()
    with dg.DagsterInstance.local_temp(str(folder)) as made:
        yield made


def can_unshare():
    with suppress(OSError):
        tried = subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False)  # noqa: S603
        return tried.returncode == 0
    return False


@pytest.mark.skipif(not can_unshare(), reason="this machine lets nobody make namespaces")
def test_streams_in_a_container_of_their_own_are_seen_and_end_by_their_record(
    settings, kept, monkeypatch
):
    instance, lake = kept, lake_id(settings)
    use_pods(instance, monkeypatch)
    created = instance.create_run_for_job(
        streams,
        status=Status.STARTED,
        remote_job_origin=RemoteJobOrigin(REPOSITORY, "streams"),
        tags={**lake_tags(lake), CODE: "older"},
    )
    arguments = [settings.model_dump_json(), created.run_id, instance.root_directory, lake]
    command = [*_UNSHARE, sys.executable, "-c", _FAR, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as far:  # noqa: S603 - our own
        try:
            own = Asker(code="older", repository=REPOSITORY.get_selector_id(), loaded_at=0.0)

            def look(asker=own):
                return observe(
                    settings, instance, lake, now=time.monotonic(), utc_now=time.time(), asker=asker
                )

            wait_for(lambda: look().far_beat and look().runs[0].boot, "its heartbeat", within_s=120)
            seen = look()
            assert seen.is_locked
            assert seen.beat is None
            assert seen.runs[0].boot == seen.far_beat.process.boot != boot_id()
            assert fail_lost_runs(instance, instance.get_runs(), lambda _: True) == []
            assert decide(seen, Memory(), POLICY)[0].why is Why.RUNS_ELSEWHERE
            newer = look(replace(own, code="newer", loaded_at=time.time() + 60))
            action, _ = decide(newer, Memory(), POLICY)
            assert (action.kind, action.why) == (Kind.END_BY_RECORD, Why.OUTDATED)
            act(action, newer, instance)
            told, _ = far.communicate(timeout=60)
            assert "says CANCELING" in told
            assert not look().is_locked
            assert REPLACED in instance.get_run_by_id(created.run_id).tags
        finally:
            far.kill()
