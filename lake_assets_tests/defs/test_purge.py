"""Against both of Dagster's storages: files of SQLite, and a real PostgreSQL."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster import DagsterRunStatus as Status
from dagster._core.remote_origin import RemoteJobOrigin
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from benchmarks.postgres import Postgres
from lake_assets.defs.internals.asset_checks import check_results, evaluation, partitioned_check
from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.purge import NAME, PURGED, Purged, build, purge
from lake_assets.model.checks import Severity
from lake_assets.settings.upkeep import DagsterSettings
from lake_assets_tests.defs.origins import REPOSITORY
from lake_assets_tests.defs.partition_status import failed_partitions, materialized_partitions

SILVER = dg.AssetKey("silver_events")
CHECK = dg.AssetCheckKey(SILVER, "known")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """One for all tests here: two seconds to start."""
    with TemporaryDirectory(prefix="pg") as folder:
        # Whoever runs PostgreSQL may be another user than the one who runs the tests.
        Path(folder).chmod(0o755)
        with Postgres(Path(folder) / "pg") as found:
            yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def instance(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance with nothing in it."""
    if request.param == "sqlite":
        yield request.getfixturevalue("stored")
        return
    url = request.getfixturevalue("postgres").create(f"dagster_{uuid.uuid4().hex}")
    (tmp_path / "dagster.yaml").write_text(f"storage: {{postgres: {{postgres_url: '{url}'}}}}")
    with dg.DagsterInstance.from_config(str(tmp_path)) as found:
        yield found


@pytest.fixture
def report(instance, lake):
    """A finished run that reports these keys, as the streams do; returns its id."""
    instance.add_dynamic_partitions(f"games_{lake}", ["uno", "chess", "poker"])

    def execute(*keys, passed=True, of=lake):
        @dg.op(out={})
        def tell(context):
            for key in keys:
                yield dg.AssetMaterialization(SILVER, partition=key)
            ids = latest_ids(context.instance, SILVER, keys)
            for key in keys:
                yield evaluation(
                    check=CHECK,
                    partition=key,
                    run_id=context.run.run_id,
                    storage_id=ids[key],
                    severity=None if passed else Severity.WARN,
                    metadata={},
                )

        @dg.job(tags=lake_tags(of), executor_def=dg.in_process_executor)
        def streams():
            tell()

        return streams.execute_in_process(instance=instance).run_id

    return execute


@pytest.fixture
def clean(instance, lake):
    """Purges all that is older than so many days; says no after so many steps."""

    def run(*, days=0.0, steps=10**9):
        left = iter(range(steps))
        before = datetime.now(UTC) - timedelta(days=days)
        return purge(instance, lake, before=before, goes_on=lambda: next(left, None) is not None)

    return run


def stored(instance, run_id, table=SqlEventLogStorageTable):
    """How many rows there are of a run where the pages of assets look."""
    query = sa.select(table.c.id).where(table.c.run_id == run_id)
    with instance.event_log_storage.index_connection() as connection:
        return len(connection.execute(query).fetchall())


@pytest.fixture
def names(lake):
    """The set of partitions."""
    return f"games_{lake}"


def test_an_old_run_goes_with_its_events_results_and_files(report, clean, instance):
    old = [report("uno", "chess"), report("uno", "chess")]
    newest = report("uno", "chess")
    log = instance.event_log_storage
    shards = (
        Path(log.path_for_shard("x")).parent if isinstance(log, SqliteEventLogStorage) else None
    )
    assert shards is None or list(shards.glob(f"{old[0]}.db*"))
    assert all(stored(instance, run_id) for run_id in old)
    found = clean()
    assert (found.runs, found.kept) == (2, 0)
    assert found.events
    for run_id in old:
        assert not instance.has_run(run_id)
        assert stored(instance, run_id) == 0
        assert stored(instance, run_id, AssetCheckExecutionsTable) == 0
        assert shards is None or not list(shards.glob(f"{run_id}*"))
    assert instance.has_run(newest)
    assert clean() == Purged()


def test_what_is_shown_stays_however_old(report, clean, instance, names):
    report("uno", "chess")
    quiet = report("poker", passed=False)
    report("uno", "chess")
    report("uno")
    before = (
        materialized_partitions(instance, SILVER, names),
        latest_ids(instance, SILVER, ["uno", "chess", "poker"]),
        check_results(instance, [CHECK]),
    )
    assert before[0] == {"uno", "chess", "poker"}
    found = clean()
    assert (found.runs, found.kept) == (1, 2)
    # As if Dagster had never noted which are materialized.
    instance.event_log_storage.wipe_asset_cached_status(SILVER)
    assert before == (
        materialized_partitions(instance, SILVER, names),
        latest_ids(instance, SILVER, ["uno", "chess", "poker"]),
        check_results(instance, [CHECK]),
    )
    run = instance.get_run_by_id(quiet)
    assert PURGED in run.tags
    assert stored(instance, quiet) == 1
    # Once something newer is shown it goes, too.
    report("poker", "chess")
    assert clean().runs == 2
    assert not instance.has_run(quiet)


def test_a_partition_that_failed_stays_failed(clean, report, instance, lake, names):
    instance.add_dynamic_partitions(names, ["uno", "chess"])

    @dg.asset(partitions_def=dg.DynamicPartitionsDefinition(name=names))
    def gold():
        raise ValueError("no")

    job = dg.Definitions(
        assets=[gold],
        jobs=[dg.define_asset_job("refresh", ["gold"], executor_def=dg.in_process_executor)],
    ).resolve_job_def("refresh")
    for key in ("uno", "chess"):
        tags = {"dagster/partition": key, **lake_tags(lake)}
        assert not job.execute_in_process(
            instance=instance, tags=tags, raise_on_error=False
        ).success
    report("uno")
    clean()
    instance.event_log_storage.wipe_asset_cached_status(dg.AssetKey("gold"))
    assert failed_partitions(instance, dg.AssetKey("gold"), names) == {"uno", "chess"}


def test_a_result_stays_that_a_later_run_planned_and_never_came_to(report, clean, instance, lake):
    old = report("uno")

    games = dg.DynamicPartitionsDefinition(name=f"games_{lake}")

    @dg.multi_asset(
        specs=[dg.AssetSpec(SILVER, partitions_def=games)],
        check_specs=[partitioned_check(CHECK.name, SILVER, games, "")],
    )
    def silver():
        raise ValueError("no")

    job = dg.Definitions(
        assets=[silver],
        jobs=[
            dg.define_asset_job(
                "check", dg.AssetSelection.all(), executor_def=dg.in_process_executor
            )
        ],
    ).resolve_job_def("check")
    tags = {"dagster/partition": "uno", **lake_tags(lake)}
    job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)

    def shown():
        (summary,) = instance.event_log_storage.get_asset_check_summary_records([CHECK]).values()
        return summary.last_check_execution_record, summary.last_completed_check_execution_record

    before = shown()
    assert [record and record.run_id == old for record in before] == [False, True]
    report()
    assert clean().kept == 1
    assert shown() == before


def test_runs_of_others_and_those_that_are_under_way_are_left_alone(report, clean, instance, lake):
    others = [report("uno", of="another"), report("uno", of="another")]

    @dg.job(tags=lake_tags(lake))
    def streams():
        """Under way."""

    statuses = (Status.QUEUED, Status.STARTING, Status.STARTED, Status.CANCELING)
    origin = RemoteJobOrigin(REPOSITORY, "streams")
    live = [
        instance.create_run_for_job(streams, status=status, remote_job_origin=origin).run_id
        for status in statuses
    ]
    counts = [stored(instance, run_id) for run_id in others]
    assert clean() == Purged()
    assert all(instance.has_run(run_id) for run_id in (*others, *live))
    assert [stored(instance, run_id) for run_id in others] == counts


def test_young_runs_stay(report, clean, instance):
    ids = [report("uno"), report("uno")]
    assert clean(days=1) == Purged()
    assert all(instance.has_run(run_id) for run_id in ids)


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_what_was_not_done_in_time_is_done_by_the_next(report, clean, instance, steps):
    ids = [report("uno") for _ in range(4)]
    assert clean(steps=steps).runs < 3
    clean()
    assert [instance.has_run(run_id) for run_id in ids] == [False, False, False, True]
    assert [bool(stored(instance, run_id)) for run_id in ids] == [False, False, False, True]


@pytest.fixture
def prompt(settings):
    """For whom all is old; as short as nobody may set it."""
    soon = DagsterSettings.model_construct(keep_runs_days=1e-9, purge_schedule="0 3 * * *")
    return settings.model_copy(update={"dagster": soon})


def test_the_job_deletes_old_runs(settings, prompt, report, instance, lake):
    ids = [report("uno"), report("uno")]
    young = build(settings, []).get_job_def(NAME).execute_in_process(instance=instance)
    assert young.success
    assert all(instance.has_run(run_id) for run_id in ids)
    done = build(prompt, []).get_job_def(NAME).execute_in_process(instance=instance)
    assert done.success
    assert [instance.has_run(run_id) for run_id in ids] == [False, True]
    assert instance.get_run_by_id(done.run_id).tags.items() >= lake_tags(lake).items()


def test_the_schedule_asks_only_when_there_is_something_old(settings, prompt, report, instance):
    report("uno")
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def ask(settings):
        schedule = build(settings, []).resolve_schedule_def(f"{NAME}_schedule")
        with dg.build_schedule_context(instance=instance, scheduled_execution_time=at) as context:
            return schedule(context)

    assert ask(settings) == dg.SkipReason("No run of this lake is older than 3 days")
    assert isinstance(ask(prompt), dg.RunRequest)
