"""What Dagster gets to see, name by name, so that nothing comes or goes unnoticed."""

import dagster as dg
import pytest

from lake_assets.definitions import assemble, defs
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.settings.upkeep import BackupSettings, DagsterSettings
from lake_assets_tests.sample import GAMES


def test_the_definitions_that_ship_are_loadable():
    dg.Definitions.validate_loadable(defs())


def names_in(found):
    graph = found.asset_graph
    return {
        "assets": sorted(key.to_user_string() for key in graph.get_all_asset_keys()),
        "checks": sorted(key.name for key in graph.asset_check_keys),
        "jobs": sorted(found.job_names),
        "sensors": sorted(sensor.name for sensor in found.sensor_defs),
        "schedules": sorted(schedule.name for schedule in found.schedule_defs),
    }


def test_every_definition_is_on_the_list(settings):
    assert names_in(assemble(settings, [GAMES]).get_repository_def()) == {
        "assets": [
            "bronze_games",
            "erasures",
            "game_stream",
            "gold_player_agg",
            "maintenance",
            "quarantine_games",
            "silver_events",
        ],
        "checks": ["device_is_known", "gamer_is_known", "no_rows_lost", "stream_keeps_up"],
        "jobs": [
            "__ASSET_JOB",
            "__anonymous_asset_job_first_gold_of_games",  # the sensor's; Dagster does not show it
            "erase",
            "gold_refresh_every_1",
            "maintain",
            "purge_dagster",
            "rebuild",
            "start_stream",
            "stop_stream",
            "streams",
        ],
        "sensors": ["alerts", "first_gold_of_games", "observer", "supervisor"],
        "schedules": [
            "erase_schedule",
            "gold_refresh_every_1_schedule",
            "maintain_schedule",
            "purge_dagster_schedule",
        ],
    }


def test_a_lake_with_a_place_for_backups_makes_them(settings, tmp_path):
    target = BackupSettings(target=str(tmp_path / "place"))
    wanted = settings.model_copy(update={"backup": target})
    found = assemble(wanted, [GAMES])
    dg.Definitions.validate_loadable(found)
    repository = found.get_repository_def()
    assert {"backup"} < set(repository.job_names)
    assert {"backup_schedule"} < {schedule.name for schedule in repository.schedule_defs}
    node = repository.asset_graph.get(dg.AssetKey("backup"))
    assert (node.group_name, node.owners) == ("maintenance", ["team:lake"])
    assert node.kinds
    assert node.description


def test_two_feeds_go_together(settings):
    fitness = GAMES.model_copy(update={"feed": "fitness"})
    found = assemble(settings, [GAMES, fitness])
    dg.Definitions.validate_loadable(found)
    assert len(found.resolve_asset_graph().get_all_asset_keys()) == 12


@pytest.mark.parametrize(
    "topic", ["backup", "maintenance", "silver_events", "bronze_games", "gold-player-agg"]
)
def test_a_topic_may_be_called_as_an_asset_is(settings, tmp_path, topic):
    found = settings.model_copy(update={"backup": BackupSettings(target=str(tmp_path / "b"))})
    feed = GAMES.model_copy(update={"source": Source(kafka=KafkaSource(topic=topic))})
    made = assemble(found, [feed])
    dg.Definitions.validate_loadable(made)
    names = {key.to_user_string() for key in made.resolve_asset_graph().get_all_asset_keys()}
    assert {f"kafka_{topic.replace('-', '_')}", "backup", "maintenance", "bronze_games"} <= names


@pytest.mark.parametrize("topic", ["backup", "gold.prices", "silver_orders", "maintenance_log"])
def test_a_topic_whose_name_no_asset_has_keeps_it(settings, topic):
    """There are no backups, nor a view `prices`."""
    feed = GAMES.model_copy(update={"source": Source(kafka=KafkaSource(topic=topic))})
    keys = assemble(settings, [feed]).resolve_asset_graph().get_all_asset_keys()
    assert dg.AssetKey(topic.replace(".", "_")) in keys


def test_every_asset_has_a_group_kinds_an_owner_and_a_description(settings):
    graph = assemble(settings, [GAMES]).resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.group_name != "default"
        assert node.kinds
        assert node.owners == ["team:lake"]
        assert node.description


def test_sensors_and_schedules_are_on_from_the_start(settings):
    found = assemble(settings, [GAMES]).get_repository_def()
    assert {s.default_status for s in found.sensor_defs} == {dg.DefaultSensorStatus.RUNNING}
    assert {s.default_status for s in found.schedule_defs} == {dg.DefaultScheduleStatus.RUNNING}


def test_a_prefix_is_before_every_key_and_name(settings, tmp_path):
    backups = BackupSettings(target=str(tmp_path / "place"))
    plain = settings.model_copy(update={"backup": backups})
    prefixed = plain.model_copy(update={"dagster": DagsterSettings(key_prefix=["prod"])})
    hourly = GAMES.model_copy(update={"feed": "hourly", "run": "0 * * * *"})
    before = names_in(assemble(plain, [GAMES, hourly]).get_repository_def())
    after = names_in(assemble(prefixed, [GAMES, hourly]).get_repository_def())
    own = {name for name in before["jobs"] if not name.startswith("__")}
    assert {name for name in after["jobs"] if not name.startswith("__")} == {
        f"prod_{name}" for name in own
    }
    assert after["assets"] == [f"prod/{name}" for name in before["assets"]]
    assert after["checks"] == before["checks"]
    for what in ("sensors", "schedules"):
        assert after[what] == [f"prod_{name}" for name in before[what]]


def test_two_lakes_go_together_in_one_location(settings, tmp_path):
    """Names of ops must be unique in one, too, which only loading it tells."""
    shown = [
        DagsterSettings(key_prefix=["prod"]),
        DagsterSettings(key_prefix=["dev"], lake_resource="dev_lake"),
    ]
    lakes = [
        settings.model_copy(update={"home": tmp_path / one.key_prefix[0], "dagster": one})
        for one in shown
    ]
    both = dg.Definitions.merge(*(assemble(lake, [GAMES]) for lake in lakes))
    dg.Definitions.validate_loadable(both)
    assert len(both.resolve_asset_graph().get_all_asset_keys()) == 14


def test_owners_are_those_of_the_settings(settings):
    owned = DagsterSettings(owners=["team:games", "a@example.com"])
    graph = assemble(settings.model_copy(update={"dagster": owned}), [GAMES]).resolve_asset_graph()
    assert {tuple(graph.get(key).owners) for key in graph.get_all_asset_keys()} == {
        ("team:games", "a@example.com")
    }
