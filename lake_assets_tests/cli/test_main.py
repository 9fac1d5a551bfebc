import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import pytest
import typer

from lake_assets.cli import main
from lake_assets.cli.lazy_commands import SUMMARIES
from lake_assets.cli.main import run_app
from lake_assets.settings.load import child_environment
from lake_assets_tests.commandline import COMMAND, answer_of, lake_assets, sparkless_here


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


def test_verbose_and_json_tell_the_trace_and_the_answer(settings):
    wrong = settings.model_copy(update={"feeds": settings.home / "no_feeds"})
    done = sparkless_here(wrong, "tables", "--json", "--verbose")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert answer_of(done)["problems"][0]["fact"].startswith("cannot be read")


def test_a_feed_that_is_to_be_named_is_wrong_usage(settings):
    both = settings.model_copy(update={"feeds": None})  # the shipped ones: two
    done = sparkless_here(both, "drop", "--dry-run", "--json")
    assert done.returncode == 2
    assert answer_of(done)["problems"][0]["what"] == "--feed"


def test_a_missing_argument_is_told_in_one_line_with_the_commands_help(settings):
    (problem,) = answer_of(sparkless_here(settings, "rebuild", "--json"))["problems"]
    assert problem["fact"] == "Missing argument 'layer'. Choose from: silver, gold, bronze"
    assert problem["next_step"] == "See `lake-assets rebuild --help`"


@pytest.mark.parametrize(
    ("ended_by", "end", "fact"),
    [
        (KeyboardInterrupt(), SystemExit, "was interrupted (Ctrl-C)"),
        (ZeroDivisionError("by nothing"), ZeroDivisionError, "ZeroDivisionError: by nothing"),
    ],
)
def test_json_is_whole_however_a_command_ends(monkeypatch, capsys, ended_by, end, fact):
    commands = typer.Typer()

    @commands.command()
    def act(*, as_json: Annotated[bool, typer.Option("--json")]) -> None:
        assert as_json
        raise ended_by

    monkeypatch.setattr(sys, "argv", ["lake-assets", "--json"])
    with pytest.raises(end) as caught:
        run_app(commands)
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["problems"][0]["fact"]) == (False, fact)
    assert getattr(caught.value, "code", 130) == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux alone has it")
@pytest.mark.parametrize("words", [("--version",), ("config", "show"), ("tables", "--json")])
def test_output_that_is_full_is_one_line(settings, words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(  # noqa: S603 - our own command line
            [*COMMAND, *words],
            env=child_environment(settings),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: standard output: cannot be written (No space left")
    assert len(done.stderr.splitlines()) == 1


def test_output_that_nobody_reads_on_is_no_error_to_tell(settings):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as closed:  # noqa: PTH123 - a pipe has no path
        done = subprocess.run(  # noqa: S603 - our own command line
            [*COMMAND, "config", "show"],
            env=child_environment(settings),
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "")


def test_ctrl_c_while_settings_are_read_is_no_trace(monkeypatch, capsys):
    def interrupted(_words):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["lake-assets", "tables", "--json"])
    monkeypatch.setattr(main, "_warn_of_unknown", interrupted)
    with pytest.raises(SystemExit) as caught:
        run_app(typer.Typer())
    assert caught.value.code == 130
    assert json.loads(capsys.readouterr().out)["problems"][0]["fact"] == "was interrupted (Ctrl-C)"


def test_a_file_that_the_system_refuses_is_one_line_and_no_trace(settings):
    place = settings.state_dir / "failing" / "games.json"
    place.mkdir(parents=True)
    done = sparkless_here(settings, "status", "--json")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {place}: cannot be read or")
    (problem,) = answer_of(done)["problems"]
    assert problem["what"] == str(place)
    shown = sparkless_here(settings, "status", "--verbose")
    assert (shown.returncode, "Traceback" in shown.stderr) == (1, True)
