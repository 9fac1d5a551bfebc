import dagster as dg
import pyarrow as pa
import pytest
from dagster import DagsterRunStatus as Status
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    ScheduleInstigatorData,
)
from deltalake import write_deltalake

from lake_assets.definitions import assemble
from lake_assets.defs.first_gold import build
from lake_assets.defs.gold import run_tags
from lake_assets.defs.internals.instigators import turned_off
from lake_assets.defs.internals.runs import range_tags
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import EVERY_KEY
from lake_assets_tests.defs.origins import instigator
from lake_assets_tests.sample import GAMES, gold_of, silver_of

OFTEN = GAMES.gold[0]
OF_ALL = GoldView(name="top", sql="select count(*) as n from silver_all", schedule="0 * * * *")
BY_HAND = OFTEN.model_copy(update={"name": "by_hand", "schedule": None})
FEED = GAMES.model_copy(update={"gold": (OFTEN, OF_ALL, BY_HAND)})
OFTEN_KEY, TOP_KEY = dg.AssetKey("gold_player_agg"), dg.AssetKey("gold_top")
ROW = pa.table({"game_name": ["uno"], "gamer_id": ["a"]})


@pytest.fixture
def write(settings):
    def add(table, rows=ROW):
        write_deltalake(settings.lake_dir / table.relative, rows, mode="append")

    return add


def turn_off(instance: dg.DagsterInstance, name: str) -> None:
    instance.add_instigator_state(
        InstigatorState(
            instigator(name),
            InstigatorType.SCHEDULE,
            InstigatorStatus.STOPPED,
            ScheduleInstigatorData("* * * * *"),
        )
    )


@pytest.fixture
def look(settings, stored, lake):
    """Assets asked for by one tick after the other; the cursor goes on."""
    stored.add_dynamic_partitions(f"games_{lake}", ["uno", "go_fish"])
    repository = assemble(settings, [FEED]).get_repository_def()
    sensor = repository.get_sensor_def("first_gold_of_games")
    cursor = None

    def tick():
        nonlocal cursor
        with dg.build_sensor_context(
            instance=stored, cursor=cursor, repository_def=repository
        ) as context:
            done = sensor.evaluate_tick(context)
        cursor = done.cursor
        return [(set(asked.asset_selection), asked.tags) for asked in done.run_requests]

    return tick


def test_nothing_is_asked_for_before_silver_has_rows(look, write):
    assert look() == []
    write(silver_of("uno"), ROW.slice(0, 0))
    assert look() == []


def test_all_scheduled_views_that_never_were_are_asked_for_in_one_run(look, write, lake):
    write(silver_of("uno"))
    ((assets, tags),) = look()
    assert assets == {OFTEN_KEY, TOP_KEY}
    expected = {**run_tags(lake), **range_tags(["uno"]), "lake_assets/keys": "behind"}
    assert tags.items() >= expected.items()


def test_a_view_is_asked_for_once_also_if_it_fails(look, write):
    write(silver_of("uno"))
    assert len(look()) == 1
    assert look() == []
    write(silver_of("go_fish"))
    assert look() == []


def test_a_view_that_was_computed_is_left_to_its_schedule(look, write):
    write(silver_of("uno"))
    write(gold_of("uno", OFTEN.name))
    write(silver_of("go_fish"))
    ((assets, _),) = look()
    assert assets == {TOP_KEY}


def test_a_view_counts_as_new_again_after_a_reset(look, write, settings):
    write(silver_of("uno"))
    look()
    write(gold_of("uno", OFTEN.name))
    write(FEED.gold_table(OF_ALL, EVERY_KEY))
    assert look() == []
    log = settings.lake_dir / gold_of("uno", OFTEN.name).relative / "_delta_log"
    log.rename(log.with_name("gone"))
    ((assets, _),) = look()
    assert assets == {OFTEN_KEY}


def test_nothing_is_asked_for_while_a_refresh_is_under_way(look, write, stored, lake):
    write(silver_of("uno"))

    @dg.job(name="refresh_gold_player_agg")
    def refreshing():
        """Stands for the real job."""

    run = stored.create_run_for_job(refreshing, status=Status.STARTED, tags=run_tags(lake))
    assert look() == []
    stored.report_run_failed(run)
    assert len(look()) == 1


def test_a_view_whose_schedule_is_off_is_not_asked_for(look, write, stored):
    write(silver_of("uno"))
    turn_off(stored, "gold_refresh_every_1_schedule")
    ((assets, _),) = look()
    assert assets == {TOP_KEY}


def test_a_schedule_that_was_turned_off_under_its_former_name_stays_off(look, write, stored):
    write(silver_of("uno"))
    turn_off(stored, "refresh_gold_player_agg_schedule")
    ((assets, _),) = look()
    assert assets == {TOP_KEY}
    assert turned_off(stored, None) == {"gold_refresh_every_1_schedule"}


def test_a_feed_without_schedules_has_no_such_sensor(settings):
    feed = GAMES.model_copy(update={"gold": (BY_HAND,)})
    assert not build(settings, [feed]).sensors


@pytest.mark.spark
def test_the_run_that_is_asked_for_computes_all_of_them(settings, stored, look, write):
    write(silver_of("uno"))
    ((assets, tags),) = look()
    job = assemble(settings, [FEED]).resolve_implicit_global_asset_job_def()
    done = job.get_subset(asset_selection=assets).execute_in_process(instance=stored, tags=tags)
    made = {(e.asset_key, e.partition) for e in done.get_asset_materialization_events()}
    assert made == {(OFTEN_KEY, "uno"), (TOP_KEY, None)}
