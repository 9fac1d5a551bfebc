import json
import subprocess
import sys

import pytest

from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings


def _run(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from lake_assets.cli.main import run; run()"
    return subprocess.run(  # noqa: S603 our own command line
        [sys.executable, "-c", code, "services", *arguments],
        env=child_environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.kafka
def test_services_outlive_the_shell_that_started_them_and_end_with_down(settings):
    assert _run(settings, "up").returncode == 0
    try:
        found = _run(settings, "status", "--json")
    finally:
        ended = _run(settings, "down")
    answer = json.loads(found.stdout)
    assert answer["services"]["kafka"]["state"] == "running"
    assert answer["kafka"].startswith("127.0.0.1:")
    assert answer["registry"].endswith("/apis/ccompat/v7")
    assert (ended.returncode, ended.stdout) == (0, "")


def test_status_of_stopped_services_is_json_too(settings):
    done = _run(settings, "status", "--json")
    assert json.loads(done.stdout) == {
        "kafka": None,
        "registry": None,
        "services": {
            name: {"state": "stopped", "pid": None, "log": None} for name in ("kafka", "registry")
        },
    }


def test_status_for_people_is_a_table(settings):
    assert "stopped" in _run(settings, "status").stdout


def test_an_error_is_one_line(settings, tmp_path):
    (tmp_path / "file").touch()
    done = _run(settings.model_copy(update={"home": tmp_path / "file" / "home"}), "up")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: services folder")
    assert len(done.stderr.splitlines()) == 1
