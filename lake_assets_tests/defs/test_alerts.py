"""The sensor with a real instance, a real lake and a real webhook."""

import os
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow as pa
import pytest
from dagster import DagsterRunStatus as Status
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    ScheduleInstigatorData,
    SensorInstigatorData,
)
from deltalake import CommitProperties, write_deltalake
from pydantic import SecretStr

from lake_assets.alerts.sensor_cursor import Watch
from lake_assets.defs import bronze, silver
from lake_assets.defs.alerts import build
from lake_assets.defs.gap_check import gap_check
from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.defs.reports import Target, evaluation_of
from lake_assets.logs.gaps import record_gaps
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Judged
from lake_assets.settings.alerts import AlertSettings
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import own_heartbeat, streams_lock, turn, write_heartbeat
from lake_assets.state.run_notes import note_complete, note_run_failed
from lake_assets_tests.alerts.servers import Hook
from lake_assets_tests.defs.origins import instigator
from lake_assets_tests.gold.silver import stands_for
from lake_assets_tests.sample import GAMES, gold_of, silver_of

SILVER = dg.AssetKey("silver_events")
ROW = pa.table({"gamer_id": ["a"]})


@pytest.fixture
def instance(stored):
    """With files: one in memory does not know what a user turned off."""
    return stored


@pytest.fixture
def hook():
    found = Hook()
    found.start()
    yield found
    found.stop()


@pytest.fixture
def told(settings, hook):
    alerts = AlertSettings(
        webhook_url=SecretStr(hook.url), settle_s=0, waiting_after_s=0, refresh_grace_s=0
    )
    return settings.model_copy(update={"alerts": alerts})


class Sensor:
    """The sensor and its cursor."""

    def __init__(self, settings, instance, hook, feed=GAMES):
        self._definitions = dg.Definitions.merge(
            bronze.build(settings, [feed]),
            silver.build(settings, [feed]),
            build(settings, [feed]),
        )
        self._sensor = self._definitions.resolve_sensor_def("alerts")
        self._instance = instance
        self._hook = hook
        self.cursor: str | None = None

    def tick(self) -> str:
        """One look; returns what the sensor says."""
        context = dg.build_sensor_context(
            instance=self._instance, cursor=self.cursor, definitions=self._definitions
        )
        result = self._sensor(context)
        self.cursor = result.cursor
        assert not result.run_requests
        return str(result.skip_reason.skip_message)

    def events(self) -> list[tuple[str, str, str]]:
        """One look; returns all that was ever told."""
        self.tick()
        return [(e["event"], e["kind"], e["subject"]) for e in self._hook.got]


@pytest.fixture
def sensor(told, instance, hook):
    return Sensor(told, instance, hook)


@pytest.fixture
def judge(instance):
    """Materializes games and reports their checks, as the streams do."""

    def run(*keys: str, violated: int) -> None:
        @dg.op(out={})
        def stream(context: dg.OpExecutionContext):
            for key in keys:
                yield dg.AssetMaterialization(SILVER, partition=key)
                yield evaluation_of(
                    dg.AssetCheckKey(SILVER, "gamer_is_known"),
                    key,
                    GAMES.expectations[0],
                    Judged(seen=8, violated=violated),
                    Target(
                        run_id=context.run.run_id,
                        storage_id=latest_ids(context.instance, SILVER, [key])[key],
                    ),
                    failing_since=FAILING_SINCE,
                )

        @dg.job(executor_def=dg.in_process_executor)
        def judging():
            stream()

        assert judging.execute_in_process(instance=instance).success

    return run


def test_where_nothing_is_wrong_nothing_is_told(sensor):
    assert sensor.tick() == "Nothing is wrong"
    assert sensor.events() == []


FAILING_SINCE = datetime(2026, 11, 21, 10, 0, 5, tzinfo=UTC)

FAILS = ("begun", "check_failed", "silver_events/gamer_is_known/uno")
PASSES = ("ended", *FAILS[1:])


def test_a_failing_check_is_told_once_and_its_end_once(sensor, judge, hook):
    judge("uno", violated=2)
    assert sensor.events() == sensor.events() == [FAILS]
    assert hook.got[0]["severity"] == "warning"
    assert hook.got[0]["details"] == (
        "failing since: 2026-11-21 10:00:05 UTC, per cent violated: 25.0, rows seen: 8, "
        "rows violated: 2"
    )
    judge("uno", violated=3)
    assert sensor.events() == [FAILS]
    judge("uno", violated=0)
    assert sensor.events() == sensor.events() == [FAILS, PASSES]


def test_lost_rows_are_told_of_by_their_table_and_not_by_bronze_s_check_as_well(
    told, sensor, instance
):
    deleted = GapReason.DELETED
    gap = Gap(source="t", partition=0, offset_from=1, offset_to=5, reason=deleted)
    with open_lake(told) as context:
        record_gaps(context, "games", [gap], datetime.now(UTC))
    check = gap_check(told, GAMES)
    selection = dg.AssetSelection.checks(check)
    dg.materialize([check], instance=instance, selection=selection)
    assert sensor.events() == [("begun", "rows_lost", "games")]


def test_each_game_is_told_of(sensor, judge):
    judge("uno", "go_fish", violated=1)
    assert sorted(subject for _, _, subject in sensor.events()) == [
        "silver_events/gamer_is_known/go_fish",
        "silver_events/gamer_is_known/uno",
    ]
    assert sensor.tick() == "2 problem(s), told of when they began"


def test_a_result_that_is_outdated_ends_nothing(sensor, judge, instance):
    judge("uno", violated=1)
    assert sensor.events() == [FAILS]
    instance.report_runless_asset_event(dg.AssetMaterialization(SILVER, partition="uno"))
    assert sensor.events() == [FAILS]


def test_a_restart_of_dagster_repeats_nothing(told, instance, hook, sensor, judge):
    judge("uno", violated=1)
    assert sensor.events() == [FAILS]
    again = Sensor(told, instance, hook)
    assert again.events() == [FAILS]
    judge("uno", violated=0)
    assert again.events() == [FAILS, PASSES]


DOWN = ("begun", "streams_failed", "streams")


@pytest.fixture
def die(run, instance):
    """Records a run of the streams that failed a moment ago."""
    return lambda: instance.report_run_failed(instance.get_run_by_id(run(Status.STARTED)))


def test_streams_that_die_are_told_of_once(sensor, die):
    assert sensor.events() == []
    die()
    assert sensor.events() == sensor.events() == [DOWN]


def test_streams_that_were_cancelled_are_not(sensor, run):
    sensor.tick()
    run(Status.CANCELED)
    assert sensor.events() == []


def test_streams_that_died_before_dagster_started_are_no_news(sensor, die):
    die()
    assert sensor.events() == sensor.events() == []


def test_streams_that_run_again_end_the_alert(told, sensor, die):
    sensor.tick()
    die()
    sensor.tick()
    with streams_lock(told.state_dir):
        for progressed_at, events in ((0.0, 1), (time.monotonic(), 2)):
            beat = own_heartbeat("a", progressed_at=progressed_at, waiting_for="a broker")
            write_heartbeat(told.state_dir, beat)
            assert len([e for e in sensor.events() if e[1] == "streams_failed"]) == events


def test_streams_that_nobody_wants_are_not_told_of(sensor, die, instance):
    sensor.tick()
    die()
    instance.add_instigator_state(
        InstigatorState(
            instigator("supervisor"),
            InstigatorType.SENSOR,
            InstigatorStatus.STOPPED,
            SensorInstigatorData(min_interval=5),
        )
    )
    assert sensor.events() == []


@pytest.mark.parametrize(
    ("quiet_s", "waiting_for", "kind"),
    [(0, "no broker at localhost:1", "streams_waiting"), (999, None, "streams_stalled")],
)
def test_streams_that_wait_or_stand_still_are_told_of(told, sensor, quiet_s, waiting_for, kind):
    with streams_lock(told.state_dir):
        quiet_since = time.monotonic() - quiet_s
        beat = own_heartbeat("cli", progressed_at=quiet_since, waiting_for=waiting_for)
        write_heartbeat(told.state_dir, beat)
        assert sensor.events() == sensor.events() == [("begun", kind, "streams")]


def write_silver(settings, *, age_s: float) -> None:
    path = settings.lake_dir / silver_of("uno").relative
    write_deltalake(path, ROW, mode="append")
    at = time.time() - age_s
    newest = max((path / "_delta_log").iterdir())
    os.utime(newest, (at, at))


def write_gold(settings, silver_version: int) -> None:
    view = GAMES.gold[0]
    write_deltalake(
        settings.lake_dir / gold_of("uno", view.name).relative,
        ROW,
        mode="overwrite",
        commit_properties=CommitProperties(
            custom_metadata=stands_for(settings, view, silver_version)
        ),
    )


MISSED = ("begun", "refresh_missed", "gold_player_agg")


def look_at_gold_again(sensor: Sensor) -> None:
    watch = Watch.from_json(sensor.cursor)
    sensor.cursor = replace(watch, gold_at=Watch().gold_at).to_json()


def test_a_missed_refresh_is_told_once_and_its_end_once(told, sensor):
    write_silver(told, age_s=120)
    assert sensor.events() == sensor.events() == [MISSED]
    write_gold(told, 0)
    assert sensor.events() == [MISSED]
    for _ in range(2):
        look_at_gold_again(sensor)
        assert sensor.events() == [MISSED, ("ended", *MISSED[1:])]


def test_a_missed_refresh_of_a_view_over_all_games_is_told_as_one(told, instance, hook):
    sql = "select gamer_id from silver_all"
    view = GoldView(name="top", sql=sql, schedule="* * * * *")
    write_silver(told, age_s=120)
    sensor = Sensor(told, instance, hook, GAMES.model_copy(update={"gold": (view,)}))
    assert sensor.events() == [("begun", "refresh_missed", "gold_top")]
    assert "did not reach 1 key(s): all keys." in hook.got[0]["details"]


@pytest.mark.parametrize(("pace", "missed"), [("live", True), ("90s", True), ("5m", False)])
def test_a_view_that_the_streams_leave_behind_is_missed(told, instance, hook, pace, missed):
    view = GoldView(name="top", sql="select gamer_id from silver", refresh=pace)
    write_silver(told, age_s=151)
    sensor = Sensor(told, instance, hook, GAMES.model_copy(update={"gold": (view,)}))
    assert sensor.events() == ([("begun", "refresh_missed", "gold_top")] if missed else [])


def test_a_view_is_not_missed_before_its_schedule_ticks(told, sensor):
    write_silver(told, age_s=120)
    write_gold(told, 0)
    write_silver(told, age_s=-120)
    assert sensor.events() == []


def test_a_refresh_has_its_time_of_grace(told, instance, hook):
    patient = told.alerts.model_copy(update={"refresh_grace_s": 300})
    write_silver(told, age_s=1000)
    sensor = Sensor(told.model_copy(update={"alerts": patient}), instance, hook)
    assert sensor.events() == []


def test_a_lake_that_cannot_be_read_is_said_and_ends_nothing(told, sensor):
    write_silver(told, age_s=120)
    assert sensor.events() == [MISSED]
    log = told.lake_dir / silver_of("uno").relative / "_delta_log"
    (log / f"{0:020}.json").write_text("rubbish")
    look_at_gold_again(sensor)
    assert "log cannot be read" in sensor.tick()
    assert sensor.events() == [MISSED]


def test_a_sink_that_is_down_is_said_and_logged_once(sensor, judge, hook, capfd):
    hook.stop()
    judge("uno", violated=1)
    for _ in range(2):
        assert "1 alert(s) wait for the sink webhook" in sensor.tick()
    logged = capfd.readouterr().err
    assert logged.count("Check fails: silver_events/gamer_is_known/uno") == 1
    assert logged.count("wait for the sink webhook") == 1
    hook.start()
    assert sensor.events() == [FAILS]


def test_another_process_is_left_to_it(told, sensor):
    told.state_dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        held.enter_context(turn(told.state_dir, "alerts"))
        assert "Another process" in sensor.tick()
    assert sensor.tick() == "Nothing is wrong"


def test_a_feed_whose_schedule_was_missed_is_told_once_and_its_end_once(told, instance, hook):
    scheduled = GAMES.model_copy(update={"run": "0 0 * * *"})
    sensor = Sensor(told, instance, hook, scheduled)
    # Nobody is late that has had its schedule for a moment only.
    assert sensor.events() == []
    note_complete(told.state_dir, "games", time.time() - 2 * 86_400)
    note_run_failed(told.state_dir, "games", time.time(), "topic 'game_stream': is away")
    late = ("begun", "run_missed", "games")
    assert sensor.events() == sensor.events() == [late]
    note_complete(told.state_dir, "games", time.time())
    assert sensor.events() == [late, ("ended", *late[1:])]


def test_a_feed_whose_schedule_is_off_is_not_late(told, instance, hook):
    scheduled = GAMES.model_copy(update={"run": "* * * * *"})
    note_complete(told.state_dir, "games", time.time() - 600)
    instance.add_instigator_state(
        InstigatorState(
            instigator("run_feed_games_schedule"),
            InstigatorType.SCHEDULE,
            InstigatorStatus.STOPPED,
            ScheduleInstigatorData("* * * * *"),
        )
    )
    assert Sensor(told, instance, hook, scheduled).events() == []


def test_live_views_of_a_feed_with_a_schedule_are_no_streams_to_watch(told, instance, hook):
    live = GAMES.gold[0].model_copy(update={"schedule": None, "refresh": timedelta(0)})
    scheduled = GAMES.model_copy(update={"run": "0 0 1 1 *", "gold": (live,)})
    write_silver(told, age_s=300)
    assert Sensor(told, instance, hook, scheduled).events() == []
