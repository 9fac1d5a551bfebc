import signal
import time
from datetime import timedelta

import dagster as dg
import pyarrow as pa
import pytest
import sqlalchemy
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from dagster._core.remote_origin import RemoteJobOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
from deltalake import write_deltalake

from lake_assets.defs.code_version import CODE, code_version
from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.defs.processes import FAULT, has_died, is_ended_by_others
from lake_assets.defs.rotation import SUPERVISOR
from lake_assets.defs.streams import build, job, run_tags
from lake_assets.errors import ExpectationFailedError
from lake_assets.model.checks import Severity
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import (
    BatchReport,
    CheckResult,
    GoldRefreshed,
    Judged,
    Mode,
    Refreshed,
    RefreshReport,
    Stage,
    ViewFailed,
    ViewRefresh,
    Waiting,
)
from lake_assets.model.tables import EVERY_KEY, bronze_of
from lake_assets.settings.schema import StreamSettings
from lake_assets.state.stream_stops import StreamStop, StreamStoppedError
from lake_assets.streams.run import Tick
from lake_assets_tests.defs.origins import REPOSITORY, instigator
from lake_assets_tests.sample import GAMES, gold_of, silver_of

SILVER = dg.AssetKey("silver_events")

INGEST = BatchReport(feed="games", stage=Stage.INGEST, batch_id=0, rows={"bronze_games": 2})
DEMUX = BatchReport(
    feed="games",
    stage=Stage.DEMUX,
    batch_id=0,
    rows={"silver_uno_events": 2},
    judged={
        ("uno", "gamer_is_known"): Judged(seen=2, violated=0),
        ("uno", "device_is_known"): Judged(seen=2, violated=1),
    },
)


GOLD = dg.AssetKey("gold_player_agg")

ROWS = pa.table({"n": [1]})


def refreshed(*, rows_read: int, passed: bool) -> Refreshed:
    """A refresh of uno's `player_agg`, with a check."""
    table = gold_of("uno", "player_agg")
    check = CheckResult(
        key="uno",
        table=table,
        name="some",
        severity=Severity.ERROR,
        passed=passed,
        found=1.0,
        limit=">= 1",
        words="1 row",
        version=0,
    )
    view = ViewRefresh(
        key="uno",
        view="player_agg",
        rows=1,
        silver_version=0,
        mode=Mode.INCREMENTAL,
        rows_read=rows_read,
    )
    report = RefreshReport(refreshed=(view,), up_to_date=())
    return Refreshed(reports=[report], gold_checks={"player_agg": [check]})


@pytest.fixture
def run(settings, instance):
    for table in (bronze_of("games"), silver_of("uno")):
        write_deltalake(settings.lake_dir / table.relative, pa.table({"n": [1, 2]}))

    def execute(*events, problem=None, report_every_s=1e-6, feed=GAMES):
        closed = []
        prompt = settings.model_copy(
            update={
                "stream": StreamSettings(
                    report_every_s=report_every_s, report_events_per_day=10**15
                )
            }
        )

        def stream(_settings, _feeds, _locate, *, owner):
            try:
                assert instance.has_run(owner)
                yield from events
                if problem:
                    raise problem
            finally:
                closed.append(True)

        found = job(prompt, [feed], stream).execute_in_process(
            instance=instance, raise_on_error=False
        )
        assert closed
        return found

    return execute


def test_batches_become_materializations_and_checks(run, instance):
    assert run(INGEST, Tick(), DEMUX, Tick()).success
    assert set(latest_ids(instance, SILVER, ["uno"])) == {"uno"}
    assert instance.get_latest_materialization_event(dg.AssetKey("bronze_games"))
    checks = [dg.AssetCheckKey(SILVER, name) for name in ("gamer_is_known", "device_is_known")]
    info = instance.event_log_storage.get_asset_check_partition_info(checks)
    found = {i.check_key.name: (i.partition_key, i.latest_execution_status.value) for i in info}
    assert found == {
        "gamer_is_known": ("uno", "SUCCEEDED"),
        "device_is_known": ("uno", "FAILED"),
    }


def test_a_game_is_a_partition_once_it_has_rows(run, instance, lake):
    run(DEMUX)
    assert instance.get_dynamic_partitions(f"games_{lake}") == ["uno"]


@pytest.fixture
def queries():
    """All that is asked of any database, statement by statement."""
    asked: list[str] = []

    def note(_connection, _cursor, statement, *_):
        asked.append(statement)

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", note)
    yield asked
    sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", note)


@pytest.mark.parametrize("keys", [1, 7])
def test_a_report_asks_once_and_for_its_games_alone(settings, stored, queries, keys):
    """Without partitions Dagster groups the whole history: 500 ms a game after some days."""
    names = [f"g{n}" for n in range(keys)]
    for name in names:
        write_deltalake(settings.lake_dir / silver_of(name).relative, pa.table({"n": [1]}))
    report = BatchReport(
        feed="games",
        stage=Stage.DEMUX,
        batch_id=0,
        rows={silver_of(name).name: 1 for name in names},
        judged={(name, "gamer_is_known"): Judged(seen=1, violated=0) for name in names},
    )

    def stream(*_, **__):
        queries.clear()  # what the start of the streams asks is another matter
        yield report

    prompt = settings.model_copy(
        update={"stream": StreamSettings(report_every_s=1e-6, report_events_per_day=10**15)}
    )
    assert job(prompt, [GAMES], stream).execute_in_process(instance=stored).success
    (asked,) = [text for text in queries if "GROUP BY" in text and "max(" in text]
    assert "event_logs.partition IN" in asked
    check = dg.AssetCheckKey(SILVER, "gamer_is_known")
    found = stored.event_log_storage.get_asset_check_partition_info([check])
    assert {i.partition_key for i in found if i.is_current} == set(names)


def test_views_that_the_streams_refresh_are_materialized_and_checked(run, instance, settings):
    view = GAMES.gold[0]
    write_deltalake(settings.lake_dir / gold_of("uno", view.name).relative, pa.table({"n": [1]}))
    refreshes = [
        GoldRefreshed(feed="games", refreshed=refreshed(rows_read=n, passed=n > 2))
        for n in (2, 3, 4)
    ]
    assert run(*refreshes, report_every_s=3600).success
    records = instance.fetch_materializations(GOLD, limit=9).records
    events = [record.asset_materialization for record in records]
    told = [
        (e.partition, e.metadata["refresh"].value, e.metadata["rows_read"].value) for e in events
    ]
    # The first at once, the others together when they are due.
    assert told == [("uno", "incremental", 7), ("uno", "incremental", 2)]
    (info,) = instance.event_log_storage.get_asset_check_partition_info(
        [dg.AssetCheckKey(GOLD, "some")]
    )
    assert (info.partition_key, info.latest_execution_status.value) == ("uno", "SUCCEEDED")


def test_a_view_over_all_keys_has_no_partition(run, instance, settings, lake):
    over_all = GoldView(name="top", sql="select gamer_id from silver_all", refresh="live")
    feed = GAMES.model_copy(update={"gold": (over_all,)})
    write_deltalake(settings.lake_dir / feed.gold_table(over_all, EVERY_KEY).relative, ROWS)
    done = Refreshed(
        reports=[
            RefreshReport(
                refreshed=(ViewRefresh(key=EVERY_KEY, view="top", rows=1, silver_version=None),),
                up_to_date=(),
            )
        ]
    )
    assert run(GoldRefreshed(feed="games", refreshed=done), feed=feed).success
    newest = instance.get_latest_materialization_event(dg.AssetKey("gold_top"))
    assert newest.asset_materialization.partition is None
    assert EVERY_KEY not in instance.get_dynamic_partitions(f"games_{lake}")


def test_what_a_killed_run_did_to_live_views_is_told_by_the_next(run, instance, settings):
    live = GAMES.gold[0].model_copy(update={"refresh": timedelta(0)})
    feed = GAMES.model_copy(update={"gold": (live,)})
    write_deltalake(settings.lake_dir / gold_of("uno", live.name).relative, ROWS)
    assert run(Tick(), feed=feed).success
    (record,) = instance.fetch_materializations(GOLD, limit=9).records
    assert record.asset_materialization.partition == "uno"
    assert run(Tick(), feed=feed).success
    assert len(instance.fetch_materializations(GOLD, limit=9).records) == 1


def test_a_view_that_fails_is_logged(run, instance):
    found = run(ViewFailed(feed="games", view="top", reason="no; it is tried again in 2 s"))
    assert found.success
    messages = [e.user_message for e in instance.all_logs(found.run_id)]
    assert "view top of games: no; it is tried again in 2 s" in messages


def test_waiting_is_logged(run, instance):
    waiting = Waiting(feed="games", stage=Stage.INGEST, reason="Kafka: is silent. Start it")
    found = run(waiting)
    messages = [e.user_message for e in instance.all_logs(found.run_id)]
    assert "ingest waits: Kafka: is silent. Start it" in messages


def test_streams_that_fail_fail_their_run(run):
    assert not run(DEMUX, problem=ValueError("no")).success


def test_streams_that_are_all_stopped_before_they_begin_are_no_failure(run, instance):
    problem = StreamStoppedError({"games": StreamStop(by="anna")})
    assert run(Tick(), problem=problem).success
    (record,) = instance.get_run_records()
    assert not has_died(record.dagster_run)


def test_a_refused_batch_is_shown_though_the_streams_end_with_it(run, instance):
    refused = BatchReport(
        feed="games",
        stage=Stage.DEMUX,
        batch_id=1,
        rows={},
        judged={("uno", "gamer_is_known"): Judged(seen=2, violated=2)},
        is_committed=False,
    )
    problem = ExpectationFailedError("gamer_is_known", "uno", "2 of 2 rows violate it")
    assert run(DEMUX, Tick()).success
    before = latest_ids(instance, SILVER, ["uno"])
    assert not run(Tick(), refused, problem=problem, report_every_s=3600).success
    (info,) = instance.event_log_storage.get_asset_check_partition_info(
        [dg.AssetCheckKey(SILVER, "gamer_is_known")]
    )
    assert (info.partition_key, info.latest_execution_status.value) == ("uno", "FAILED")
    assert latest_ids(instance, SILVER, ["uno"]) == before


def test_what_was_not_due_yet_is_told_at_the_end(run, instance):
    assert run(INGEST, INGEST, report_every_s=3600).success
    found = instance.fetch_materializations(dg.AssetKey("bronze_games"), limit=9).records
    rows = [one.asset_materialization.metadata["rows_added"].value for one in found]
    assert sum(rows) == 4


def test_streams_end_when_the_record_of_their_run_does(settings, instance):
    def stream(_settings, _feeds, _locate, *, owner):
        instance.report_run_canceling(instance.get_run_by_id(owner))
        while True:
            yield Tick()

    found = job(settings, [GAMES], stream).execute_in_process(
        instance=instance, raise_on_error=False
    )
    assert not found.success


def test_streams_end_with_a_run_that_is_interrupted_between_two_events(
    settings, instance, monkeypatch
):
    write_deltalake(settings.lake_dir / bronze_of("games").relative, ROWS)
    closed = []

    def stream(*_, **__):
        try:
            yield INGEST
            yield Tick()
            pytest.fail("streams went on after an interrupt")
        finally:
            closed.append(True)

    handle_new_event = type(instance).handle_new_event

    def interrupt(self, event, **batch):
        if event.dagster_event and event.dagster_event.is_step_materialization:
            signal.raise_signal(signal.SIGINT)
        handle_new_event(self, event, **batch)

    monkeypatch.setattr(type(instance), "handle_new_event", interrupt)
    prompt = settings.model_copy(
        update={"stream": StreamSettings(report_every_s=1e-6, report_events_per_day=10**15)}
    )
    with pytest.raises(dg.DagsterExecutionInterruptedError):
        job(prompt, [GAMES], stream).execute_in_process(instance=instance)
    assert closed == [True]
    (run,) = instance.get_runs()
    assert run.status is dg.DagsterRunStatus.FAILURE
    assert not has_died(run)
    assert is_ended_by_others(run)


@pytest.mark.parametrize("is_at_fault", [False, True])
def test_streams_that_a_signal_ends_are_cancelled_unless_for_a_fault(
    settings, instance, is_at_fault
):
    def stream(_settings, _feeds, _locate, *, owner):
        yield Tick()
        if is_at_fault:
            instance.add_run_tags(owner, {FAULT: "no progress"})
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("streams went on after an interrupt")

    with pytest.raises(dg.DagsterExecutionInterruptedError):
        job(settings, [GAMES], stream).execute_in_process(instance=instance)
    (run,) = instance.get_runs()
    expected = dg.DagsterRunStatus.FAILURE if is_at_fault else dg.DagsterRunStatus.CANCELED
    assert run.status is expected
    assert has_died(run) is is_at_fault
    assert is_ended_by_others(run) is not is_at_fault


def test_the_job_is_one_at_a_time_for_a_lake_and_never_overdue(settings, lake):
    streams = build(settings, [GAMES]).get_job_def("streams")
    assert streams.tags == {**run_tags(lake), CODE: code_version(settings, [GAMES])}
    assert streams.tags["lake_assets/streams"] == streams.tags["lake_assets/lake"] == lake
    assert streams.tags["dagster/max_runtime"] == "0"


def test_columns_are_told_once_a_run(run, instance, settings):
    both = BatchReport(
        feed="games",
        stage=Stage.DEMUX,
        batch_id=0,
        rows={"silver_go_fish_events": 1, "silver_uno_events": 1},
    )
    write_deltalake(settings.lake_dir / silver_of("go_fish").relative, ROWS)

    def told(key):
        newest_first = instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=SILVER, asset_partitions=[key]), limit=9
        ).records
        events = [record.asset_materialization for record in newest_first]
        return ["dagster/column_schema" in event.metadata for event in reversed(events)]

    assert run(both, Tick(), both, Tick()).success
    # Uno's event is the newest of the asset, which is the one that its page shows.
    assert (told("go_fish"), told("uno")) == ([True, False], [True, True])
    assert run(both, Tick(), both, Tick()).success
    assert told("go_fish") == [True, False, True, False]


def test_a_run_whose_time_is_over_ends_well_and_tells_all(settings, stored, lake):
    write_deltalake(settings.lake_dir / bronze_of("games").relative, ROWS)
    at = time.time()
    ticked = SensorInstigatorData(last_tick_timestamp=at, last_tick_start_timestamp=at)
    stored.add_instigator_state(
        InstigatorState(
            instigator(SUPERVISOR), InstigatorType.SENSOR, InstigatorStatus.RUNNING, ticked
        )
    )
    closed = []

    def stream(*_, **__):
        try:
            while True:
                yield INGEST
        finally:
            closed.append(True)

    soon = StreamSettings(report_every_s=3600, rotate_run_after_h=1e-15)
    streams = job(settings.model_copy(update={"stream": soon}), [GAMES], stream)
    origin = RemoteJobOrigin(REPOSITORY, "streams")
    run = stored.create_run_for_job(streams, remote_job_origin=origin, tags=run_tags(lake))
    done = execute_run(InMemoryJob(streams), run, stored)
    assert done.success
    assert closed
    found = stored.fetch_materializations(dg.AssetKey("bronze_games"), limit=9).records
    assert [r.asset_materialization.metadata["rows_added"].value for r in found] == [2]
