import socket

import pytest

from lake_assets.feeds.load import load_feeds
from lake_assets.services.control import locate
from lake_assets.settings.schema import KafkaSettings, RegistrySettings
from lake_assets.sources.kafka.topics import end_offsets
from lake_assets_tests.commandline import answer_of, lake_assets, result_of, sparkless_here


@pytest.mark.kafka
@pytest.mark.slow
def test_services_outlive_the_shell_that_started_them_and_end_with_down(settings):
    settings = settings.model_copy(update={"feeds": None})  # all that ship
    assert lake_assets(settings, "services", "up").returncode == 0
    try:
        found = lake_assets(settings, "services", "status", "--json")
        topics = [feed.source.kafka.names[0] for feed in load_feeds(None)]
        ends = {topic: end_offsets(locate(settings), topic) for topic in topics}
    finally:
        ended = lake_assets(settings, "services", "down")
    answer = result_of(found)
    assert {name: one["state"] for name, one in answer.items()} == {
        "kafka": "running",
        "registry": "running",
    }
    assert found.returncode == 0
    assert ends == {"tracker-events": {0: 0, 1: 0}, "game-stream": {0: 0, 1: 0}}
    assert answer["kafka"]["address"].startswith("127.0.0.1:")
    assert answer["registry"]["address"].endswith("/apis/ccompat/v7")
    assert (ended.returncode, ended.stdout) == (0, "kafka and registry stopped\n")


def test_status_of_stopped_services_is_json_too_and_an_error(settings):
    done = sparkless_here(settings, "services", "status", "--json")
    answer = answer_of(done)
    assert (done.returncode, answer["ok"]) == (1, False)
    stopped = {
        "state": "stopped",
        "address": None,
        "answers": False,
        "is_needed": True,
        "pid": None,
        "log": None,
    }
    assert answer["result"] == {"kafka": stopped, "registry": stopped}
    assert [one["what"] for one in answer["problems"]] == ["embedded kafka", "embedded registry"]


def test_what_is_the_users_own_is_asked_too_and_silence_is_an_error(settings, server_port):
    own = settings.model_copy(
        update={
            "kafka": KafkaSettings(bootstrap_servers=f"127.0.0.1:{server_port}"),
            "registry": RegistrySettings(url=f"http://127.0.0.1:{server_port}"),
        }
    )
    done = sparkless_here(own, "services", "status", "--json")
    found = result_of(done)
    assert done.returncode == 1
    assert {name: (one["state"], one["answers"]) for name, one in found.items()} == {
        "kafka": ("yours", False),
        "registry": ("yours", False),
    }


@pytest.mark.kafka
def test_the_users_own_that_answer_are_fine(settings, services):
    own = settings.model_copy(
        update={
            "kafka": KafkaSettings(bootstrap_servers=services.kafka),
            "registry": RegistrySettings(url=services.registry),
        }
    )
    done = sparkless_here(own, "services", "status", "--json")
    assert (done.returncode, answer_of(done)["problems"]) == (0, [])


@pytest.fixture
def server_port():
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield free.getsockname()[1]


def test_down_says_what_it_stopped(settings):
    done = sparkless_here(settings, "services", "down")
    assert (done.returncode, done.stdout) == (0, "nothing ran\n")


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
