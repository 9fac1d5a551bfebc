import dagster as dg
import pytest

from lake_assets import LakeResource, build_defs, gold_key, partitions_of
from lake_assets.errors import SettingsError


def names_in(made: dg.Definitions) -> set[str]:
    repository = made.get_repository_def()
    sensors = {sensor.name for sensor in repository.sensor_defs}
    schedules = {schedule.name for schedule in repository.schedule_defs}
    jobs = {name for name in repository.job_names if not name.startswith("__")}
    return sensors | schedules | jobs


def test_a_lake_goes_into_a_project_with_an_executor_and_assets_of_its_own(tmp_path):
    made = build_defs(
        lake=tmp_path / "not" / "there" / "yet", key_prefix=["prod"], owners=["a@b.de"]
    )

    @dg.asset(deps=[gold_key("games", "player_agg")], partitions_def=partitions_of("games"))
    def churn(lake: LakeResource) -> None:
        """Reads the lake."""

    @dg.asset
    def other() -> None:
        """Of the project alone."""

    project = dg.Definitions(assets=[churn, other], executor=dg.multiprocess_executor)
    both = dg.Definitions.merge(made, project)
    dg.Definitions.validate_loadable(both)
    graph = both.resolve_asset_graph()
    assert graph.get(churn.key).parent_keys == {dg.AssetKey(["prod", "gold_player_agg"])}
    assert graph.get(dg.AssetKey(["prod", "silver_events"])).owners == ["a@b.de"]
    hand = both.resolve_implicit_global_asset_job_def()
    assert hand.executor_def.name == dg.multiprocess_executor.name  # the project's own
    for name in names_in(made) & set(both.get_repository_def().job_names):
        assert both.resolve_job_def(name).executor_def.name == "in_process", name


def test_without_an_executor_of_the_projects_its_jobs_stay_as_they_are(tmp_path):
    @dg.job
    def own() -> None:
        """Of the project."""

    both = dg.Definitions.merge(
        build_defs(lake=tmp_path / "lake", include={"assets"}), dg.Definitions(jobs=[own])
    )
    assert both.executor is None
    assert both.resolve_job_def("own").executor_def.name == "multi_or_in_process_executor"


def test_what_is_included_is_there_and_nothing_else(tmp_path):
    def included(*words):
        return names_in(build_defs(lake=tmp_path / "lake", include=words))

    assert included("alerts") == {"alerts"}
    assert {"streams", "supervisor"} <= included("streams")
    assert included("rebuild") == {"rebuild"}
    assert included("purge", "maintenance") == {
        "purge_dagster",
        "purge_dagster_schedule",
        "maintain",
        "maintain_schedule",
    }
    assert included() == set()
    assert names_in(build_defs(lake=tmp_path / "lake", include="alerts")) == {"alerts"}
    everything = names_in(build_defs(lake=tmp_path / "lake"))
    assert {"streams", "alerts", "rebuild", "maintain", "erase", "purge_dagster"} <= everything


def test_a_word_that_is_no_part_is_refused_with_the_nearest():
    with pytest.raises(SettingsError, match=r"include: has 'stream', .*Did you mean 'streams'"):
        build_defs(include={"assets", "stream"})


def test_settings_by_group_go_before_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_MAINTENANCE_SCHEDULE", "* * * * *")
    made = build_defs(lake=tmp_path / "lake", maintenance={"schedule": "7 * * * *"})
    assert made.resolve_schedule_def("maintain_schedule").cron_schedule == "7 * * * *"


def test_two_lakes_go_together_in_one_location(tmp_path):
    both = dg.Definitions.merge(
        build_defs(lake=tmp_path / "prod", key_prefix="prod"),
        build_defs(lake=tmp_path / "dev", key_prefix="dev", lake_resource="dev_lake"),
    )
    dg.Definitions.validate_loadable(both)
    assert {"prod_streams", "dev_streams", "prod_supervisor", "dev_alerts"} <= names_in(both)
    prod = partitions_of("games", key_prefix="prod")
    assert prod != partitions_of("games", key_prefix="dev")
    assert prod == partitions_of("games", lake=tmp_path / "prod")
    with pytest.raises(SettingsError, match=r"several lakes that are built here"):
        gold_key("games", "player_agg")


def test_parts_of_a_lake_go_together_as_the_whole(tmp_path):
    parts = [
        build_defs(lake=tmp_path / "lake", include={word})
        for word in ("assets", "streams", "alerts")
    ]
    both = dg.Definitions.merge(*parts)
    dg.Definitions.validate_loadable(both)
    assert {"streams", "alerts"} <= names_in(both)
