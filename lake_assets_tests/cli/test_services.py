import json

import pytest

from lake_assets.feeds.load import load_feeds
from lake_assets.services.control import locate
from lake_assets.sources.kafka.topics import end_offsets
from lake_assets_tests.commandline import lake_assets, sparkless_here


@pytest.mark.kafka
def test_services_outlive_the_shell_that_started_them_and_end_with_down(settings):
    settings = settings.model_copy(update={"feeds": None})  # all that ship
    assert lake_assets(settings, "services", "up").returncode == 0
    try:
        found = lake_assets(settings, "services", "status", "--json")
        topics = [feed.source.kafka.names[0] for feed in load_feeds(None)]
        ends = {topic: end_offsets(locate(settings), topic) for topic in topics}
    finally:
        ended = lake_assets(settings, "services", "down")
    answer = json.loads(found.stdout)
    assert answer["services"]["kafka"]["state"] == "running"
    assert ends == {"tracker-events": {0: 0, 1: 0}, "game-stream": {0: 0, 1: 0}}
    assert answer["kafka"].startswith("127.0.0.1:")
    assert answer["registry"].endswith("/apis/ccompat/v7")
    assert (ended.returncode, ended.stdout) == (0, "")


def test_status_of_stopped_services_is_json_too(settings):
    done = sparkless_here(settings, "services", "status", "--json")
    assert json.loads(done.stdout) == {
        "kafka": None,
        "registry": None,
        "services": {
            name: {"state": "stopped", "pid": None, "log": None} for name in ("kafka", "registry")
        },
    }


def test_status_for_people_is_a_table(settings):
    assert "stopped" in sparkless_here(settings, "services", "status").stdout


def test_an_error_is_one_line(settings, tmp_path):
    (tmp_path / "file").touch()
    blocked = settings.model_copy(update={"home": tmp_path / "file" / "home"})
    done = sparkless_here(blocked, "services", "up")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: services folder")
    assert len(done.stderr.splitlines()) == 1
