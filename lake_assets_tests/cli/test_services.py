import json

import pytest

from lake_assets_tests.commandline import lake_assets


@pytest.mark.kafka
def test_services_outlive_the_shell_that_started_them_and_end_with_down(settings):
    assert lake_assets(settings, "services", "up").returncode == 0
    try:
        found = lake_assets(settings, "services", "status", "--json")
    finally:
        ended = lake_assets(settings, "services", "down")
    answer = json.loads(found.stdout)
    assert answer["services"]["kafka"]["state"] == "running"
    assert answer["kafka"].startswith("127.0.0.1:")
    assert answer["registry"].endswith("/apis/ccompat/v7")
    assert (ended.returncode, ended.stdout) == (0, "")


def test_status_of_stopped_services_is_json_too(settings):
    done = lake_assets(settings, "services", "status", "--json")
    assert json.loads(done.stdout) == {
        "kafka": None,
        "registry": None,
        "services": {
            name: {"state": "stopped", "pid": None, "log": None} for name in ("kafka", "registry")
        },
    }


def test_status_for_people_is_a_table(settings):
    assert "stopped" in lake_assets(settings, "services", "status").stdout


def test_an_error_is_one_line(settings, tmp_path):
    (tmp_path / "file").touch()
    blocked = settings.model_copy(update={"home": tmp_path / "file" / "home"})
    done = lake_assets(blocked, "services", "up")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: services folder")
    assert len(done.stderr.splitlines()) == 1
