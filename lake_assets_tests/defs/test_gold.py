from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa
import pytest
from dagster import DagsterRunStatus as Status
from deltalake import write_deltalake

from lake_assets.defs.gold import RUN_TAGS, build
from lake_assets.defs.internals import all_of, latest_ids, latest_metadata
from lake_assets.defs.processes import PROCESS
from lake_assets.gold.run import refresh_views
from lake_assets.lake.failing import Verdict, note_verdicts
from lake_assets.model.checks import Severity
from lake_assets.model.tables import silver_of
from lake_assets.settings.schema import Settings
from lake_assets_tests.sample import GAMES

GOLD = dg.AssetKey("gold_player_agg")
JOB = "refresh_gold_player_agg"


def write_silver(settings: Settings, game: str, gamers: list[str]) -> None:
    rows = {"game_name": [game] * len(gamers), "gamer_id": gamers}
    write_deltalake(silver_of(game).path(settings.lake_dir), pa.table(rows), mode="append")


@pytest.fixture
def tick(settings, stored):
    schedule = build(settings, [GAMES]).resolve_schedule_def(f"{JOB}_schedule")

    def look():
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return schedule(dg.build_schedule_context(instance=stored, scheduled_execution_time=at))

    return look


@pytest.fixture
def execute(settings, instance):
    definitions = dg.Definitions.merge(
        build(settings, [GAMES]), dg.Definitions(executor=dg.in_process_executor)
    )
    job = definitions.resolve_job_def(JOB)

    def run(tags):
        result = job.execute_in_process(instance=instance, tags=tags)
        assert result.success
        return {event.partition for event in result.get_asset_materialization_events()}

    return run


def test_gold_comes_from_silver(settings):
    graph = build(settings, [GAMES]).resolve_asset_graph()
    assert graph.get(GOLD).parent_keys == {dg.AssetKey("silver_events")}


def test_a_feed_without_views_has_no_gold(settings):
    feed = GAMES.model_copy(update={"gold": ()})
    assert not build(settings, [feed]).resolve_asset_graph().get_all_asset_keys()


def test_a_view_without_a_schedule_is_refreshed_by_hand(settings):
    view = GAMES.gold[0].model_copy(update={"schedule": None})
    feed = GAMES.model_copy(update={"gold": (view,)})
    found = build(settings, [feed])
    assert not found.schedules
    assert found.resolve_job_def(JOB).tags.items() >= RUN_TAGS.items()


def test_nothing_is_refreshed_before_there_is_silver(tick, stored):
    stored.add_dynamic_partitions("games", ["uno"])
    assert tick() == dg.SkipReason("Every game is up to date with its silver")


def test_games_that_are_held_up_ask_for_no_run(settings, stored):
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = GAMES.model_copy(update={"expectations": (blocking,)})
    schedule = build(settings, [feed]).resolve_schedule_def(f"{JOB}_schedule")
    stored.add_dynamic_partitions("games", ["uno"])
    write_silver(settings, "uno", ["a"])
    at = datetime(2026, 1, 1, tzinfo=UTC)
    verdict = Verdict(game="uno", name=blocking.name, severity=Severity.WARN)
    note_verdicts(settings.state_dir, "games", [verdict], at)
    context = dg.build_schedule_context(instance=stored, scheduled_execution_time=at)
    assert schedule(context) == dg.SkipReason(
        "Every game is up to date with its silver, or held up by what fails"
    )


def test_one_run_is_asked_for_over_all_games(tick, stored, settings):
    stored.add_dynamic_partitions("games", ["uno", "chess", "go_fish"])
    write_silver(settings, "uno", ["a"])
    assert tick() == dg.RunRequest(tags=all_of(["uno", "chess", "go_fish"]))


def test_a_refresh_waits_for_the_one_before(tick, stored, settings):
    write_silver(settings, "uno", ["a"])
    stored.add_dynamic_partitions("games", ["uno"])

    @dg.job(name=JOB)
    def refreshing():
        """Stands for the real job."""

    stored.create_run_for_job(refreshing, status=Status.STARTED)
    assert tick() == dg.SkipReason("The last refresh is still under way")


@pytest.mark.spark
def test_a_range_run_tells_of_the_games_that_changed(execute, instance, settings):
    write_silver(settings, "uno", ["a", "a", "b"])
    write_silver(settings, "go_fish", ["a"])
    instance.add_dynamic_partitions("games", ["uno", "chess", "go_fish"])
    everything = all_of(["uno", "chess", "go_fish"])
    assert execute(everything) == {"uno", "go_fish"}
    write_silver(settings, "uno", ["c"])
    assert execute(everything) == {"uno"}
    assert execute(everything) == set()
    assert latest_metadata(instance, GOLD, "uno")["dagster/row_count"].value == 3
    assert set(latest_ids(instance, GOLD)) == {"uno", "go_fish"}
    assert all(PROCESS in run.tags for run in instance.get_runs())


@pytest.mark.spark
def test_gold_that_others_refreshed_is_told_of_once(execute, instance, settings):
    write_silver(settings, "uno", ["a"])
    refresh_views(settings, GAMES)
    instance.add_dynamic_partitions("games", ["uno"])
    assert execute({"dagster/partition": "uno"}) == {"uno"}
    assert execute({"dagster/partition": "uno"}) == set()
