import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.gold import build, run_tags
from lake_assets.defs.internals.runs import range_tags
from lake_assets.defs.planned_keys import tags_of_behind
from lake_assets.errors import StreamError
from lake_assets.model.gold_views import GoldView
from lake_assets_tests.defs.partition_status import failed_partitions
from lake_assets_tests.sample import GAMES, silver_of

KNOWN = ["uno", "chess", "poker", "go_fish"]

CRON = GAMES.gold[0].schedule

TOP = GoldView(name="top", keys=["gamer_id"], measures={"n": "count(*)"}, schedule=CRON)

FEED = GAMES.model_copy(update={"gold": (GAMES.gold[0], TOP)})

BEHIND = {"lake_assets/keys": "behind"}


def test_a_run_names_one_key_that_is_behind_in_as_many_views_as_any():
    assert tags_of_behind({"a": ["uno", "poker"]}, KNOWN) == range_tags(["uno"]) | BEHIND
    both = {"a": ["uno", "poker"], "b": ["poker"]}
    assert tags_of_behind(both, KNOWN) == range_tags(["poker"]) | BEHIND
    assert tags_of_behind({"a": ["nobody"], "b": []}, KNOWN) == {}


@pytest.fixture
def fail(settings, instance, lake, monkeypatch):
    """Runs what the schedule asks for; its refresh fails. Gives the plans of the run."""

    def refuse(*_, **__):
        raise StreamError("view", "fails", "Repair it")

    monkeypatch.setattr("lake_assets.defs.gold.refresh_gold", refuse)
    definitions = dg.Definitions.merge(
        build(settings, [FEED]), dg.Definitions(executor=dg.in_process_executor)
    )
    job = definitions.resolve_job_def("gold_refresh_every_1")
    instance.add_dynamic_partitions(f"games_{lake}", KNOWN)
    # Of what was materialized, Dagster looks up the versions that a run starts from.
    for key in KNOWN:
        instance.report_runless_asset_event(dg.AssetMaterialization("silver_events", partition=key))

    def run(tags):
        done = job.execute_in_process(
            instance=instance, tags=run_tags(lake) | tags, raise_on_error=False
        )
        assert not done.success
        assert "Repair it" in str([e.event_specific_data for e in done.all_events])
        kind = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
        plans = instance.get_records_for_run(done.run_id, of_type=kind).records
        return sorted((str(plan.asset_key.path[-1]), plan.partition_key) for plan in plans)

    return run


def failed(instance, lake, view):
    return failed_partitions(instance, dg.AssetKey(f"gold_{view}"), f"games_{lake}")


def test_a_run_that_fails_marks_what_is_behind_and_nothing_between(fail, settings, instance, lake):
    for key in ("uno", "go_fish"):
        rows = pa.table({"game_name": [key], "gamer_id": ["a"]})
        write_deltalake(settings.lake_dir / silver_of(key).relative, rows)
    plans = fail(range_tags(["uno"]) | BEHIND)
    views = ("gold_player_agg", "gold_top")
    assert plans == [(view, key) for view in views for key in ("go_fish", "uno")]
    for view in ("player_agg", "top"):
        assert failed(instance, lake, view) == {"uno", "go_fish"}


def test_a_run_that_a_user_starts_over_partitions_plans_those(fail, instance, lake):
    plans = fail(range_tags(["chess", "go_fish"]))
    keys = ["chess", "go_fish", "poker"]
    assert plans == [(view, key) for view in ("gold_player_agg", "gold_top") for key in keys]
    assert failed(instance, lake, "top") == set(keys)
