import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

from lake_assets.cli.answer import ExitCode, Problem, Severity, as_text, code_of, tell
from lake_assets.errors import LakeError, UsageError
from lake_assets_tests.commandline import sparkless_here

HELD = Problem(what="view", fact="is held", exit_code=ExitCode.BLOCKED)
FAILS = Problem(what="check", fact="fails", exit_code=ExitCode.CHECK)
NOTE = Problem(what="disk", fact="is small", severity=Severity.WARNING)


@dataclass
class Row:
    at: datetime
    path: Path


def test_an_answer_has_the_four_parts_on_one_line():
    row = Row(datetime(2026, 11, 28, tzinfo=UTC), Path("/lake"))
    told = as_text("tables", [row], [NOTE])
    assert "\n" not in told
    assert json.loads(told) == {
        "command": "tables",
        "ok": True,
        "result": [{"at": "2026-11-28T00:00:00+00:00", "path": "/lake"}],
        "problems": [
            {
                "severity": "warning",
                "what": "disk",
                "fact": "is small",
                "next_step": "",
                "file": None,
                "line": None,
                "column": None,
            }
        ],
    }


def test_what_json_cannot_say_is_refused():
    with pytest.raises(TypeError, match="object"):
        as_text("tables", object())


@pytest.mark.parametrize(
    ("problems", "code"),
    [
        ([], 0),
        ([NOTE], 0),
        ([FAILS], 3),
        ([FAILS, HELD], 4),
        ([FAILS, HELD, Problem(what="disk")], 1),
    ],
)
def test_the_worst_problem_gives_the_exit_code(problems, code):
    assert code_of(problems) == code


def test_problems_are_told_on_standard_error_beside_the_object(capsys):
    with pytest.raises(typer.Exit) as end:
        tell(
            "refresh",
            {"views": 1},
            [HELD, NOTE],
            as_json=True,
            show=lambda: sys.stdout.write("words\n"),
        )
    assert end.value.exit_code == ExitCode.BLOCKED
    out, err = capsys.readouterr()
    assert (json.loads(out)["ok"], err) == (
        False,
        "error: view: is held\nwarning: disk: is small\n",
    )


def test_people_get_words_and_no_problem_twice(capsys):
    told = Problem(what="port", severity=Severity.WARNING, is_told=True)
    tell("doctor", {}, [told], as_json=False, show=lambda: sys.stdout.write("words\n"))
    assert capsys.readouterr() == ("words\n", "")


def test_an_errors_parts_are_a_problems():
    error = LakeError("lake", "is full", "Free some")
    problem = Problem.of(error)
    assert (problem.words, problem.exit_code) == (str(error), ExitCode.ERROR)
    assert Problem.of(UsageError("--at", "is missing", "Name it")).exit_code == ExitCode.USAGE


def test_an_error_that_ends_a_command_is_an_object_too(settings):
    wrong = settings.model_copy(update={"feeds": settings.home / "no_feeds"})
    done = sparkless_here(wrong, "tables", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["command"], answer["ok"]) == (1, "tables", False)
    (problem,) = answer["problems"]
    assert done.stderr == (f"error: {problem['what']}: {problem['fact']}. {problem['next_step']}\n")


def test_wrong_usage_is_an_object_and_two(settings):
    done = sparkless_here(settings, "services", "status", "--jsn", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["command"]) == (2, "services status")
    assert "--jsn" in answer["problems"][0]["fact"]
    assert "Usage:" in done.stderr
