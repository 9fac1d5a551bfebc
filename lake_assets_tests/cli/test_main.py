import subprocess
from importlib.metadata import version

import pytest

from lake_assets.cli.lazy_commands import SUMMARIES
from lake_assets.settings.load import child_environment
from lake_assets_tests.commandline import COMMAND, lake_assets, sparkless_here


def test_help_names_every_command(settings):
    shown = lake_assets(settings, "--help").stdout
    assert [name for name in SUMMARIES if name not in shown] == []


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_explains_itself(settings, name):
    done = sparkless_here(settings, name, "--help")
    assert done.returncode == 0
    assert "Usage:" in done.stdout


@pytest.mark.parametrize("words", [("-h",), ("tables", "-h"), ("services", "status", "-h")])
def test_the_short_option_shows_the_same_help(settings, words):
    short = sparkless_here(settings, *words)
    assert short.returncode == 0
    assert short.stdout == sparkless_here(settings, *words[:-1], "--help").stdout


def test_the_version_is_that_of_the_package(settings):
    shown = sparkless_here(settings, "--version")
    assert (shown.returncode, shown.stdout) == (0, f"lake-assets {version('lake-assets')}\n")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("lake-assets reb", {"rebuild"}),
        ("lake-assets services sta", {"status"}),
        ("lake-assets tables --js", {"--json"}),
    ],
)
def test_a_shell_completes_commands_and_options(settings, line, found):
    """As the script asks that `--install-completion` puts into a shell's files."""
    words = str(len(line.split()) - 1)
    asked = {"COMP_WORDS": line, "COMP_CWORD": words, "_LAKE_ASSETS_COMPLETE": "complete_bash"}
    done = subprocess.run(  # noqa: S603 - our own command line
        COMMAND,
        env={**child_environment(settings), **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {*done.stdout.split()} == found


@pytest.mark.parametrize("words", [("--verbose", "produce"), ("produce", "--verbose")])
def test_verbose_shows_the_trace_of_an_error(settings, words):
    done = lake_assets(settings, *words, "--events", "1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ServiceError" in done.stderr


def test_a_wrong_setting_is_one_line_that_names_the_variable(settings):
    wrong = settings.model_copy(
        update={"stream": settings.stream.model_copy(update={"stall_after_s": -1.0})}
    )
    done = sparkless_here(wrong, "tables")
    assert done.returncode == 1
    assert done.stderr.startswith("error: LAKE_ASSETS_STREAM_STALL_AFTER_S")
    assert len(done.stderr.splitlines()) == 1
