"""Of one run; what becomes of a lake's is in `defs/test_purge.py`, on both storages."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.compute_log_manager import ComputeIOType

from lake_assets.defs.internals.purge import can_purge, purge_run

ASSET = dg.AssetKey("silver_events")


@pytest.fixture
def run(instance):
    """A finished run that materializes these keys; returns its id."""

    def execute(*keys):
        @dg.op(out={})
        def tell():
            for key in keys:
                yield dg.AssetMaterialization(ASSET, partition=key, tags={"a": "b"})

        @dg.job(executor_def=dg.in_process_executor)
        def streams():
            tell()

        return streams.execute_in_process(instance=instance).run_id

    return execute


def events(instance, run_id):
    found = instance.fetch_materializations(ASSET, limit=99).records
    return sorted(r.partition_key for r in found if r.event_log_entry.run_id == run_id)


def test_dagsters_own_storages_can_be_purged(instance):
    assert can_purge(instance)
    with dg.DagsterInstance.ephemeral() as ephemeral:
        assert can_purge(ephemeral)


def test_what_is_newest_stays_with_the_record_of_its_run(instance, run):
    old = run("uno", "poker")
    run("uno")
    done = purge_run(instance, old, lambda: True)
    assert (done.is_done, done.is_whole) == (True, False)
    assert events(instance, old) == ["poker"]
    assert instance.has_run(old)
    # A second time there is nothing to delete.
    assert purge_run(instance, old, lambda: True).events == 0


def test_a_purge_that_is_told_to_stop_leaves_the_record_to_the_next(instance, run):
    old = run("uno")
    run("uno")
    done = purge_run(instance, old, lambda: False)
    assert (done.events, done.is_done, done.is_whole) == (0, False, False)
    assert instance.has_run(old)
    assert purge_run(instance, old, lambda: True).is_whole
    assert not instance.has_run(old)
    assert events(instance, old) == []


def test_logs_of_a_run_go_with_it(instance, run):
    old = run("uno")
    run("uno")
    log_manager = instance.compute_log_manager
    key = log_manager.build_log_key_for_run(old, "tell")
    with log_manager.open_log_stream(key, ComputeIOType.STDOUT) as out:
        assert out
        out.write("said")
    file = Path(log_manager.get_captured_local_path(key, "out"))
    assert file.exists()
    purge_run(instance, old, lambda: True)
    assert not file.exists()
