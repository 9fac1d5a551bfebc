import pytest
from typer.testing import CliRunner

from benchmarks.command import app, bench
from lake_assets.errors import SettingsError


def test_its_help_names_the_options():
    shown = CliRunner().invoke(app, ["--help"]).output
    for option in (
        *("--events", "--quick", "--tables", "--runs", "--only", "--history", "--seconds"),
        *("--rates", "--batches", "--output", "--chart", "--json"),
    ):
        assert option in shown


@pytest.mark.parametrize("given", ["seven", "7,,8", ""])
def test_tables_that_are_no_numbers_are_refused(given):
    with pytest.raises(SettingsError, match="--tables: "):
        bench(tables=given)


def test_rates_that_are_no_numbers_are_refused():
    with pytest.raises(SettingsError, match="--rates: 'fast' is not a list of numbers"):
        bench(rates="fast")
