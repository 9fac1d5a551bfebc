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
    for thing in ("Java", "jars for spark", "Kafka", "schema registry", "lake folder", "disk"):
        assert thing in done.output


@pytest.mark.java
def test_a_broken_thing_is_exit_code_1_with_its_fix(runner, settings: Settings):
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1")
    wrong = settings.model_copy(update={"kafka": kafka})
    done = runner.invoke(app, ["doctor"], env=child_environment(wrong))
    assert done.exit_code == 1
    assert "broken" in done.output
