import json

import pytest
from typer.testing import CliRunner

from lake_assets.cli.main import app
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import KafkaSettings, Settings


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner()


@pytest.mark.java
def test_a_machine_that_lacks_nothing_is_exit_code_0(runner, settings: Settings):
    done = runner.invoke(app, ["doctor"], env=child_environment(settings))
    assert done.exit_code == 0, done.output
    for thing in (
        "feeds",
        "Java",
        "jars for spark",
        "Kafka",
        "schema registry",
        "lake folder",
        "disk",
    ):
        assert thing in done.output


@pytest.mark.java
def test_a_broken_thing_is_exit_code_1_with_its_fix(runner, settings: Settings):
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1")
    wrong = settings.model_copy(update={"kafka": kafka})
    done = runner.invoke(app, ["doctor"], env=child_environment(wrong))
    assert done.exit_code == 1
    assert "broken" in done.output


@pytest.mark.java
def test_wrong_feeds_are_told_with_the_command_that_tells_all(runner, settings: Settings, tmp_path):
    (tmp_path / "f.yaml").write_text("feed: f\nsource: {}\npayload: {}\n")
    wrong = settings.model_copy(update={"feeds": tmp_path})
    done = runner.invoke(app, ["doctor", "--json"], env=child_environment(wrong))
    assert done.exit_code == 1
    (problem,) = [one for one in json.loads(done.output)["problems"] if one["what"] == "feeds"]
    assert (problem["severity"], problem["next_step"]) == ("error", "lake-assets validate")
    assert "f.yaml, line 2: source" in problem["fact"]
