from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster import DagsterRunStatus as Status
from deltalake import write_deltalake

from lake_assets.defs.checks import build as build_checks
from lake_assets.defs.gold import build, former_schedule_names, run_tags, schedule_name
from lake_assets.defs.hand_runs import gold_pool
from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.defs.internals.runs import range_tags
from lake_assets.defs.processes import PROCESS
from lake_assets.defs.reports import latest_metadata
from lake_assets.gold.run import refresh_views
from lake_assets.gold.status import views_behind
from lake_assets.model.checks import GoldCheck, RowCount, Severity
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.keyed import Keyed
from lake_assets.model.keyed_views import with_deletes
from lake_assets.settings.schema import Settings
from lake_assets.state.failing_expectations import Verdict, note_verdicts
from lake_assets_tests.defs.partition_status import failed_partitions
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE, silver_of

GOLD = dg.AssetKey("gold_player_agg")
JOB = "gold_refresh_every_1"


def write_silver(settings: Settings, key: str, gamers: list[str]) -> None:
    rows = {"game_name": [key] * len(gamers), "gamer_id": gamers}
    write_deltalake(settings.lake_dir / silver_of(key).relative, pa.table(rows), mode="append")


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


def chained(name, sql):
    return GoldView(name=name, sql=sql, schedule=VIEW.schedule)


VIEW = GAMES.gold[0]

CHAIN = GAMES.model_copy(
    update={
        "gold": (
            VIEW,
            chained("often", "select gamer_id from gold.player_agg"),
            chained("total", "select count(*) as n from gold_all.often"),
            chained("share", "select n from gold.often, gold_all.total, renamed.gold.player_agg"),
        )
    }
).beside([RENAMED])


def test_a_view_comes_from_what_it_reads_of_its_feed_and_of_others(settings):
    graph = build(settings, [CHAIN, RENAMED]).resolve_asset_graph()
    parents = {
        name: {key.to_user_string() for key in graph.get(dg.AssetKey(name)).parent_keys}
        for name in ("gold_often", "gold_total", "gold_share")
    }
    assert parents == {
        "gold_often": {"gold_player_agg"},
        "gold_total": {"gold_often"},
        "gold_share": {"gold_often", "gold_total", "gold_renamed_player_agg"},
    }
    share = graph.get(dg.AssetKey("gold_share")).partition_mappings
    assert list(map(type, share.values())) == [dg.AllPartitionMapping]
    assert set(share) == {dg.AssetKey("gold_renamed_player_agg")}


@pytest.mark.spark
def test_one_run_refreshes_views_after_those_that_they_read(settings, instance, lake):
    """Also where views of keys and views over all take turns."""
    own = CHAIN.gold[3].model_copy(update={"sql": "select n, 1 as m from silver, gold_all.total"})
    feed = CHAIN.model_copy(update={"gold": (own, *CHAIN.gold[:3])})
    write_silver(settings, "uno", ["ann"])
    instance.add_dynamic_partitions(f"games_{lake}", ["uno", "go_fish"])
    definitions = dg.Definitions.merge(
        build(settings, [feed]), dg.Definitions(executor=dg.in_process_executor)
    )
    result = definitions.resolve_job_def(JOB).execute_in_process(
        instance=instance, tags=range_tags(["uno", "go_fish"])
    )
    assert result.success
    events = result.get_asset_materialization_events()
    assert [event.asset_key.to_user_string() for event in events] == [
        "gold_player_agg",
        "gold_often",
        "gold_total",
        "gold_share",
    ]
    assert views_behind(settings, feed) == {view.name: () for view in feed.gold}


def test_a_feed_without_views_has_no_gold(settings):
    feed = GAMES.model_copy(update={"gold": ()})
    assert not build(settings, [feed]).resolve_asset_graph().get_all_asset_keys()


def test_a_view_without_a_schedule_is_refreshed_by_hand(settings, lake):
    view = GAMES.gold[0].model_copy(update={"schedule": None})
    feed = GAMES.model_copy(update={"gold": (view,)})
    found = build(settings, [feed])
    assert not found.schedules
    assert found.resolve_job_def("refresh_gold_player_agg").tags.items() >= run_tags(lake).items()


def test_nothing_is_refreshed_before_there_is_silver(tick, stored, lake):
    stored.add_dynamic_partitions(f"games_{lake}", ["uno"])
    assert tick() == dg.SkipReason("Every key is up to date with its silver")


def test_games_that_are_held_up_ask_for_no_run(settings, stored, lake):
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = GAMES.model_copy(update={"expectations": (blocking,)})
    schedule = build(settings, [feed]).resolve_schedule_def(f"{JOB}_schedule")
    stored.add_dynamic_partitions(f"games_{lake}", ["uno"])
    write_silver(settings, "uno", ["a"])
    at = datetime(2026, 1, 1, tzinfo=UTC)
    verdict = Verdict(key="uno", name=blocking.name, severity=Severity.WARN)
    note_verdicts(settings.state_dir, "games", [verdict], at)
    context = dg.build_schedule_context(instance=stored, scheduled_execution_time=at)
    assert schedule(context) == dg.SkipReason(
        "Every key is up to date with its silver, or held up by what fails"
    )


def test_one_run_is_asked_for_of_the_games_that_are_behind(tick, stored, settings, lake):
    stored.add_dynamic_partitions(f"games_{lake}", ["chess", "uno", "go_fish"])
    write_silver(settings, "uno", ["a"])
    write_silver(settings, "go_fish", ["a"])
    found = tick()
    assert found.tags == run_tags(lake) | {**range_tags(["uno"]), "lake_assets/keys": "behind"}
    assert (found.asset_selection, found.asset_check_keys) == ([GOLD], [])


def test_a_refresh_waits_for_the_one_before(tick, stored, settings, lake):
    write_silver(settings, "uno", ["a"])
    stored.add_dynamic_partitions(f"games_{lake}", ["uno"])

    @dg.job(name=JOB)
    def refreshing():
        """Stands for the real job."""

    stored.create_run_for_job(refreshing, status=Status.STARTED, tags=run_tags("another lake"))
    assert isinstance(tick(), dg.RunRequest)
    stored.create_run_for_job(refreshing, status=Status.STARTED, tags=run_tags(lake))
    assert tick() == dg.SkipReason("The last refresh is still under way")


@pytest.mark.spark
def test_a_range_run_tells_of_the_games_that_changed(execute, instance, settings, lake):
    write_silver(settings, "uno", ["a", "a", "b"])
    write_silver(settings, "go_fish", ["a"])
    instance.add_dynamic_partitions(f"games_{lake}", ["uno", "chess", "go_fish"])
    everything = range_tags(["uno", "chess", "go_fish"])
    scheduled = everything | {"dagster/schedule_name": f"{JOB}_schedule"}
    assert execute(scheduled) == {"uno", "go_fish"}
    write_silver(settings, "uno", ["c"])
    assert execute(scheduled) == {"uno"}
    assert execute(scheduled) == set()
    assert latest_metadata(instance, GOLD, "uno")["dagster/partition_row_count"].value == 3
    assert set(latest_ids(instance, GOLD, ["uno", "chess", "go_fish"])) == {"uno", "go_fish"}
    assert all(PROCESS in run.tags for run in instance.get_runs())


@pytest.mark.spark
def test_a_run_of_the_schedule_tells_of_the_games_that_changed(
    execute, tick, instance, settings, lake
):
    # Of what was materialized, Dagster looks up the versions that a run starts from.
    instance.report_runless_asset_event(dg.AssetMaterialization("silver_events", partition="uno"))
    write_silver(settings, "uno", ["a", "a", "b"])
    write_silver(settings, "go_fish", ["a"])
    instance.add_dynamic_partitions(f"games_{lake}", ["chess", "uno", "go_fish"])
    assert execute(tick().tags) == {"uno", "go_fish"}
    write_silver(settings, "uno", ["c"])
    assert execute(tick().tags) == {"uno"}
    assert tick() == dg.SkipReason("Every key is up to date with its silver")
    newest = latest_metadata(instance, GOLD, "uno")
    assert newest["dagster/column_schema"].value.columns[0].name == "gamer_id"


@pytest.mark.spark
def test_a_run_that_fails_marks_the_games_that_it_names(instance, settings, lake):
    refused = Expectation(name="quiet", sql="session_count < 3", action=Action.FAIL)
    view = GAMES.gold[0].model_copy(update={"expectations": (refused,)})
    definitions = dg.Definitions.merge(
        build(settings, [GAMES.model_copy(update={"gold": (view,)})]),
        dg.Definitions(executor=dg.in_process_executor),
    )
    job = definitions.resolve_job_def(JOB)
    instance.add_dynamic_partitions(f"games_{lake}", ["uno", "go_fish"])
    for key in ("uno", "go_fish"):
        write_silver(settings, key, ["a"])
    both, one = range_tags(["uno", "go_fish"]), range_tags(["uno"])
    assert job.execute_in_process(instance=instance, tags=both).success
    assert failed_partitions(instance, GOLD, f"games_{lake}") == set()
    write_silver(settings, "uno", ["a", "a"])
    done = job.execute_in_process(instance=instance, tags=one, raise_on_error=False)
    assert not done.success
    assert failed_partitions(instance, GOLD, f"games_{lake}") == {"uno"}


@pytest.mark.spark
def test_gold_that_others_refreshed_is_told_of_once(execute, instance, settings, lake):
    write_silver(settings, "uno", ["a"])
    refresh_views(settings, GAMES)
    instance.add_dynamic_partitions(f"games_{lake}", ["uno"])
    scheduled = {"dagster/partition": "uno", "dagster/schedule_name": f"{JOB}_schedule"}
    assert execute(scheduled) == {"uno"}
    assert execute(scheduled) == set()


@pytest.mark.spark
def test_who_clicks_gets_an_answer_for_each_partition(settings, instance, lake):
    """By Dagster's own job, as "Materialize" does it: no tag of ours, and no schedule."""
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = GAMES.model_copy(update={"expectations": (blocking,)})
    keys = ("uno", "go_fish", "chess")
    instance.add_dynamic_partitions(f"games_{lake}", keys)
    for key in ("uno", "go_fish"):
        write_silver(settings, key, ["a", "b"])
    verdict = Verdict(key="go_fish", name=blocking.name, severity=Severity.WARN)
    note_verdicts(settings.state_dir, "games", [verdict], datetime(2026, 1, 1, tzinfo=UTC))
    own = dg.Definitions.merge(
        build(settings, [feed]), dg.Definitions(executor=dg.in_process_executor)
    )
    job = own.resolve_implicit_global_asset_job_def()

    def click(**config):
        done = job.execute_in_process(
            instance=instance,
            tags=range_tags(keys),
            run_config={"ops": {"refresh_gold_of_games": {"config": config}}},
        )
        assert done.success
        events = [
            event.event_specific_data
            for event in done.all_events
            if event.is_step_materialization or event.is_asset_observation
        ]
        found = [getattr(e, "materialization", None) or e.asset_observation for e in events]
        return {(one.partition, type(one).__name__): one.metadata["refresh"].value for one in found}

    observed = {
        ("go_fish", "AssetObservation"): "left as it is",
        ("chess", "AssetObservation"): "not computed",
    }
    uno = ("uno", "AssetMaterialization")
    assert click() == {uno: "full", **observed}
    assert click() == {uno: "up to date", **observed}
    assert latest_metadata(instance, GOLD, "uno")["dagster/partition_row_count"].value == 2
    assert click(full_refresh=True) == {uno: "full", **observed}
    (run, *_) = instance.get_runs()
    assert run.tags["dagster/max_runtime"] == "3600"
    assert own.resolve_asset_graph().get(GOLD).pools == {gold_pool(lake)}


OFTEN = GAMES.gold[0]
TOP = GoldView(
    name="top",
    description="Who plays most.",
    sql="select gamer_id, count(*) as n from silver group by gamer_id",
    schedule="*/5 * * * *",
)
OF_ALL = GoldView(
    name="of_all",
    sql="select game_name, count(*) as n from silver_all group by game_name",
    schedule="*/5 * * * *",
    expectations=(Expectation(name="busy", sql="n > 1"),),
    checks=(
        GoldCheck(name="some", row_count=RowCount(min=1)),
        GoldCheck(name="counts_all", equals_source="n"),
    ),
)
THREE = GAMES.model_copy(update={"gold": (OFTEN, TOP, OF_ALL)})
TOP_KEY, OF_ALL_KEY = dg.AssetKey("gold_top"), dg.AssetKey("gold_of_all")
TOGETHER = "gold_refresh_every_5"


def test_views_with_the_same_schedule_share_its_runs(settings):
    found = build(settings, [THREE]).get_repository_def()
    assert {s.name: s.job_name for s in found.schedule_defs} == {
        f"{JOB}_schedule": JOB,
        f"{TOGETHER}_schedule": TOGETHER,
    }
    assert [schedule_name(Settings(), THREE, view) for view in THREE.gold] == [
        f"{JOB}_schedule",
        f"{TOGETHER}_schedule",
        f"{TOGETHER}_schedule",
    ]


def test_a_view_more_or_less_renames_no_schedule(settings):
    """A name that changes loses its history, and one that was turned off runs again."""
    more = THREE.model_copy(update={"gold": (TOP.model_copy(update={"name": "a"}), *THREE.gold)})
    less = THREE.model_copy(update={"gold": (OFTEN, OF_ALL)})
    names = {s.name for s in build(settings, [THREE]).schedules}
    for feed in (more, less):
        assert {s.name for s in build(settings, [feed]).schedules} == names
    assert {s.cron_schedule for s in build(settings, [more]).schedules} == {
        "*/1 * * * *",
        "*/5 * * * *",
    }


def test_the_names_of_the_first_release_are_known():
    assert former_schedule_names(Settings(), THREE) == {
        "refresh_gold_player_agg_schedule": f"{JOB}_schedule",
        "refresh_gold_top_and_1_more_schedule": f"{TOGETHER}_schedule",
    }


def test_a_view_over_all_games_comes_from_all_silver_and_has_no_partitions(settings, lake):
    graph = build(settings, [THREE]).resolve_asset_graph()
    assert graph.get(OF_ALL_KEY).parent_keys == {dg.AssetKey("silver_events")}
    assert graph.get(OF_ALL_KEY).partitions_def is None
    assert graph.get(TOP_KEY).partitions_def.name == f"games_{lake}"


def test_a_view_over_all_games_leads_to_its_one_table(settings):
    metadata = build(settings, [THREE]).resolve_asset_graph().get(OF_ALL_KEY).metadata
    place = Path(metadata["path"].value)
    assert metadata["dagster/uri"].value == place.as_uri()
    assert metadata["dagster/table_name"].value == place.name


def test_a_view_tells_what_it_is_for_and_how_it_is_computed(settings):
    graph = build(settings, [THREE]).resolve_asset_graph()
    assert graph.get(TOP_KEY).description == (
        f"Who plays most.\n\nA table a key:\n\n```sql\n{TOP.sql}\n```\n\n"
        "Refreshed on a schedule, `*/5 * * * *` (UTC)."
    )
    assert (graph.get(OF_ALL_KEY).description or "").startswith("One table over all keys:")
    of_gamers = str(graph.get(GOLD).description)
    assert "one row for each gamer_id:\n\n- `session_count`" in of_gamers
    assert of_gamers.endswith("\n\nRefreshed on a schedule, `*/1 * * * *` (UTC).")


@pytest.mark.parametrize(
    ("refresh", "words"), [("live", "seconds after silver"), ("30s", "at most every 30 s")]
)
def test_a_view_that_the_streams_refresh_says_so(settings, refresh, words):
    keyed = {"keys": {"gamer_id": "gamer_id"}, "measures": {"plays": "count(*)"}}
    view = GoldView.model_validate({"name": "plays", "refresh": refresh, **keyed})
    graph = build(settings, [GAMES.model_copy(update={"gold": (view,)})]).resolve_asset_graph()
    told = str(graph.get(dg.AssetKey("gold_plays")).description)
    assert told.endswith(f"Refreshed by the streams, {words}.")


def test_a_keyed_table_tells_what_its_changes_are(settings):
    keyed = Keyed(by="gamer_id", order="event_timestamp", deletes="device_id = ''")
    views = with_deletes([GoldView(name="current", keyed=keyed)], ("_offset",))
    feed = GAMES.model_copy(update={"gold": views})
    graph = build(settings, [feed]).resolve_asset_graph()
    found = graph.get(dg.AssetKey("gold_current"))
    assert found.parent_keys == {dg.AssetKey("silver_events")}
    assert found.description == (
        "A table a key, of the changes in silver:\n\n- by: `gamer_id`\n"
        "- order: `event_timestamp`\n- deletes: `device_id = ''`\n\n"
        "Refreshed when somebody asks for it."
    )
    assert "`current` must remember" in str(
        graph.get(dg.AssetKey("gold_current_deletes")).description
    )


@pytest.fixture
def look(settings, stored):
    """What the schedule of both views in free SQL asks for."""
    schedule = build(settings, [THREE]).resolve_schedule_def(f"{TOGETHER}_schedule")

    def ask():
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return schedule(dg.build_schedule_context(instance=stored, scheduled_execution_time=at))

    return ask


def test_a_run_is_of_the_views_that_are_behind(look, stored, settings, lake):
    stored.add_dynamic_partitions(f"games_{lake}", ["uno", "go_fish"])
    write_silver(settings, "uno", ["a"])
    assert look().asset_selection == [TOP_KEY, OF_ALL_KEY]
    assert look().tags == run_tags(lake) | {**range_tags(["uno"]), "lake_assets/keys": "behind"}


@pytest.mark.spark
def test_a_run_of_both_kinds_tells_of_games_and_of_all(instance, stored, settings, look, lake):
    definitions = dg.Definitions.merge(
        build(settings, [THREE]), dg.Definitions(executor=dg.in_process_executor)
    )
    job = definitions.resolve_job_def(TOGETHER)
    for where in (instance, stored):
        where.add_dynamic_partitions(f"games_{lake}", ["uno", "go_fish"])
    write_silver(settings, "uno", ["a", "a"])
    write_silver(settings, "go_fish", ["a"])

    def run():
        asked = look()
        done = job.execute_in_process(
            instance=instance, tags=asked.tags, asset_selection=asked.asset_selection
        )
        assert done.success
        made = [
            e.step_materialization_data.materialization
            for e in done.all_events
            if e.is_step_materialization
        ]
        judged = {
            (found.check_name, found.partition): found.passed
            for found in done.get_asset_check_evaluations()
        }
        return {(m.asset_key, m.partition) for m in made}, judged

    made, judged = run()
    assert made == {(TOP_KEY, "uno"), (TOP_KEY, "go_fish"), (OF_ALL_KEY, None)}
    assert judged == {("some", None): True, ("counts_all", None): True, ("busy", None): False}
    assert latest_metadata(instance, OF_ALL_KEY, None)["dagster/row_count"].value == 2
    assert look() == dg.SkipReason("Every key is up to date with its silver")
    write_silver(settings, "uno", ["b"])
    assert run()[0] == {(TOP_KEY, "uno"), (OF_ALL_KEY, None)}


@pytest.mark.spark
def test_a_view_over_all_can_be_refreshed_by_itself(instance, settings):
    definitions = dg.Definitions.merge(
        build(settings, [THREE]), dg.Definitions(executor=dg.in_process_executor)
    )
    write_silver(settings, "uno", ["a"])
    refresh_views(settings, THREE)
    job = definitions.resolve_job_def(TOGETHER)
    made = []
    for _ in range(2):
        done = job.execute_in_process(instance=instance, asset_selection=[OF_ALL_KEY])
        made.append([e.asset_key for e in done.get_asset_materialization_events()])
    assert made == [[OF_ALL_KEY], [OF_ALL_KEY]]
    assert latest_metadata(instance, OF_ALL_KEY, None)["refresh"].value == "up to date"


@pytest.mark.spark
def test_checks_of_a_view_over_all_are_executed_without_partitions(instance, settings):
    write_silver(settings, "uno", ["a", "a"])
    refresh_views(settings, THREE)
    checks = dg.Definitions.merge(build(settings, [THREE]), build_checks(settings, [THREE]))
    job = checks.resolve_implicit_global_asset_job_def()
    keys = [dg.AssetCheckKey(OF_ALL_KEY, name) for name in ("some", "busy", "counts_all")]
    done = job.get_subset(asset_selection=set(), asset_check_selection=set(keys))
    result = done.execute_in_process(instance=instance)
    found = {e.check_name: (e.passed, e.partition) for e in result.get_asset_check_evaluations()}
    assert found == {"some": (True, None), "busy": (True, None), "counts_all": (True, None)}


@pytest.mark.parametrize(
    ("feed", "name"),
    [
        (GAMES, "gold_{key}_player_agg"),
        (RENAMED, "player_agg_of_{key}"),
        (WITHOUT_ROUTE, "gold_clicks_player_agg"),
    ],
)
def test_a_view_is_shown_under_the_names_of_its_tables(settings, feed, name):
    graph = build(settings, [feed]).resolve_asset_graph()
    (key,) = graph.materializable_asset_keys
    assert graph.get(key).metadata["tables"] == dg.MetadataValue.text(name)
