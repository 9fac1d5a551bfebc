from typer.testing import CliRunner

from faults.command import app
from lake_assets.errors import SettingsError


def test_its_help_names_the_options():
    shown = CliRunner().invoke(app, ["--help"]).output
    for option in ("--minutes", "--seed", "--venue", "--quick", "--output", "--chart", "--page"):
        assert option in shown


def test_a_venue_that_there_is_not_is_refused():
    result = CliRunner().invoke(app, ["--venue", "moon"])
    assert isinstance(result.exception, SettingsError)
    assert "Use one of disk, s3, cluster" in str(result.exception)
