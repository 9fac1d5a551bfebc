import pytest

from lake_assets.services.checkup import Finding, Health, examine, judge_disk
from lake_assets.settings.schema import (
    KafkaSettings,
    RegistrySettings,
    RuntimeSettings,
    Settings,
)


def _found(settings: Settings) -> dict[str, Finding]:
    return {finding.thing: finding for finding in examine(settings)}


@pytest.mark.java
def test_a_new_home_has_nothing_broken(settings):
    found = _found(settings)
    assert all(finding.health is not Health.BROKEN for finding in found.values())
    assert found["Kafka"].fix == "lake-assets services up"
    assert not settings.home.exists()


@pytest.mark.kafka
def test_the_users_own_services_that_answer_are_fine(connected):
    found = _found(connected)
    assert found["Kafka"].health is Health.OK
    assert found["schema registry"].health is Health.OK


def test_the_users_own_services_that_do_not_answer_are_broken(settings):
    wrong = {
        "kafka": KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        "registry": RegistrySettings(url="http://127.0.0.1:1"),
    }
    found = _found(settings.model_copy(update=wrong))
    assert found["Kafka"].health is Health.BROKEN
    assert found["schema registry"].health is Health.BROKEN


def test_missing_jars_come_later(settings, tmp_path):
    empty = RuntimeSettings(cache=tmp_path / "cache")
    finding = _found(settings.model_copy(update={"runtime": empty}))["jars for spark"]
    assert finding.health is Health.LATER
    assert finding.fix


def test_a_cache_that_refuses_is_broken(settings, tmp_path):
    (tmp_path / "file").touch()
    closed = RuntimeSettings(cache=tmp_path / "file" / "cache")
    found = _found(settings.model_copy(update={"runtime": closed}))
    assert found["jars for kafka"].health is Health.BROKEN


def test_a_lake_inside_a_file_is_broken(settings, tmp_path):
    (tmp_path / "file").touch()
    finding = _found(settings.model_copy(update={"lake": tmp_path / "file" / "lake"}))[
        "lake folder"
    ]
    assert finding.health is Health.BROKEN
    assert "LAKE_ASSETS_HOME" in finding.fix


@pytest.mark.parametrize(
    ("free_bytes", "health"),
    [
        (999_999_999, Health.BROKEN),
        (1_000_000_000, Health.LATER),
        (4_999_999_999, Health.LATER),
        (5_000_000_000, Health.OK),
    ],
)
def test_a_disk_is_judged_by_its_room(free_bytes, health):
    assert judge_disk(free_bytes).health is health
