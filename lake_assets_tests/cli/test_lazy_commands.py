import subprocess
import sys

import pytest
from typer.core import TyperGroup
from typer.testing import CliRunner

from lake_assets.cli.lazy_commands import SUMMARIES, load
from lake_assets.cli.main import app
from lake_assets.settings.load import child_environment

LOOK = """
import sys
from lake_assets.cli.main import app
try:
    app(sys.argv[1:])
finally:
    print(*(name for name in ("pyspark", "pandas", "dagster") if name in sys.modules))
"""


def run(*arguments: str, settings=None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 our own command line
        [sys.executable, "-c", LOOK, *arguments],
        env=child_environment(settings) if settings else None,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_list_shows_each_commands_own_first_sentence(name):
    first = (load(name).help or "").split("\n\n")[0]
    assert first == SUMMARIES[name]


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_help_breaks_no_line_within_a_paragraph(name):
    found = load(name)
    for command in found.commands.values() if isinstance(found, TyperGroup) else [found]:
        assert "\n" not in (command.help or "").replace("\n\n", "")


def test_the_help_lists_all_commands_in_order():
    shown = CliRunner().invoke(app, ["--help"]).output
    places = [shown.index(f"│ {name} ") for name in SUMMARIES]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["services", "status"],
        ["tables"],
        ["status"],
        ["produce", "--help"],
        ["validate", "--quick"],
        pytest.param(["doctor"], marks=pytest.mark.java),
    ],
    ids=" ".join,
)
def test_what_needs_no_spark_does_not_import_it(arguments, settings):
    done = run(*arguments, settings=settings)
    code = 1 if arguments[0] in {"services", "status"} else 0  # none run
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, ""), done.stderr


def test_a_commands_own_help_is_shown():
    shown = CliRunner().invoke(app, ["services", "--help"])
    assert (shown.exit_code, shown.output.count("status")) == (0, 1)


def test_a_command_that_is_mistyped_is_suggested():
    shown = CliRunner().invoke(app, ["prodce"])
    assert shown.exit_code == 2
    assert "Did you mean 'produce'?" in shown.output
