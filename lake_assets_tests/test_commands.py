"""What holds for all commands; those that take part are found, not listed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from lake_assets.cli.answer import ExitCode, Problem, as_text
from lake_assets.cli.lazy_commands import SUMMARIES, load
from lake_assets_tests.commandline import answer_of, sparkless_here

_LEAVES: dict[str, Any] = {}
for _name in SUMMARIES:
    _found = load(_name)
    if isinstance(_found, TyperGroup):
        _LEAVES |= {f"{_name} {inner}": leaf for inner, leaf in _found.commands.items()}
    else:
        _LEAVES[_name] = _found


def options(command):
    return {
        word: parameter
        for parameter in _LEAVES[command].params
        for word in (*parameter.opts, *parameter.secondary_opts)
        if word.startswith("-")
    }


_NO_SETTINGS = {"init", "schema feed"}

_NO_LAKE = {
    "export",
    "offsets",
    "package",
    "produce",
    "services down",
    "services status",
    "services up",
}
_NO_LAKE |= _NO_SETTINGS
_NO_FEEDS = {"convert"} | _NO_SETTINGS


@pytest.mark.parametrize("command", _LEAVES)
def test_every_command_answers_as_json_and_takes_the_places(command):
    has = options(command)
    assert "--json" in has
    for option, without in (
        ("--home", _NO_SETTINGS),
        ("--feeds", _NO_FEEDS),
        ("--lake", _NO_LAKE),
    ):
        assert (option in has) == (command not in without), option


def test_an_option_of_one_name_is_the_same_everywhere():
    """Its kind, and whether it may be given again; --feed and the like say the same of it."""
    seen: dict[str, dict[tuple[object, ...], str]] = {}
    for command in _LEAVES:
        for word, parameter in options(command).items():
            shape = (parameter.type_descriptor.annotation, parameter.multiple, parameter.is_flag)
            seen.setdefault(word, {}).setdefault(shape, command)
    several = {word: shapes for word, shapes in seen.items() if len(shapes) > 1}
    # What files and what results are written as.
    assert several.keys() <= {"--format"}, several


def test_every_option_that_a_page_shows_is_one_of_its_command():
    root = Path(__file__).parents[1]
    shown = []
    for page in (*root.glob("*.md"), *root.glob("docs/**/*.md")):
        if page.name == "CHANGELOG.md" or page.parent.name == "decisions":
            continue
        for line in re.findall(r"lake-assets ([a-z][^`\n]*)", page.read_text()):
            words = re.split(r"\s#|[|<>;]|\s{2}", line)[0].split()
            name = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in _LEAVES), "")
            named = [re.match(r"--[a-z][a-z0-9-]*", word) for word in words if name]
            shown += [(page.name, name, one[0]) for one in named if one and one[0] != "--help"]
    assert len(shown) > 150
    assert [one for one in shown if one[2] not in options(one[1])] == []


def test_the_shared_options_have_one_help_text():
    shared = ("--home", "--feeds", "--json", "--yes", "--dry-run", "--sink")
    for word in shared:
        texts = {options(command)[word].help for command in _LEAVES if word in options(command)}
        assert len(texts) == 1, (word, texts)


@pytest.mark.parametrize("command", _LEAVES)
def test_every_option_is_explained(command):
    silent = [word for word, parameter in options(command).items() if not parameter.help]
    assert silent == []


@pytest.mark.parametrize("option", ["--game", "--games", "--keys"])
def test_a_former_spelling_is_refused_with_the_new_one(settings, option):
    done = sparkless_here(settings, "produce", option, "uno", "--json")
    assert done.returncode == 2
    (problem,) = answer_of(done)["problems"]
    assert problem["fact"].endswith(
        f"{option} is `--key` now, once for each: `--key uno --key poker`"
    )


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("schemas", "games"), "--feed"),
        (("backfill", "games"), "--feed"),
        (("redeliver", "api"), "--sink"),
    ],
)
def test_a_former_argument_is_refused_with_the_option(settings, words, option):
    done = sparkless_here(settings, *words, "--json")
    assert done.returncode == 2
    assert option in answer_of(done)["problems"][0]["fact"]


def test_a_confirmation_is_asked_for_by_what_replaces_or_deletes():
    """Decision 126."""
    asking = {command for command in _LEAVES if "--yes" in options(command)}
    assert asking == {"backup", "drop", "erase", "rebuild", "restore"}
    assert asking | {"catalog sync", "convert", "maintain", "redeliver", "requeue"} == {
        command for command in _LEAVES if "--dry-run" in options(command)
    }


def test_places_may_be_named_in_place_of_the_environment(settings, tmp_path):
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    (feeds / "mine.yaml").write_text(
        "feed: mine\nsource: {kafka: {topic: mine}}\npayload: {json: {schema: 'a string'}}\n"
        "route: {column: a, keys: [x]}\n"
    )
    home = tmp_path / "home"
    done = sparkless_here(settings, "schemas", "--home", str(home), "--feeds", str(feeds))
    assert done.stdout == "nothing is kept of feed mine yet; run `lake-assets stream`\n"
    there = sparkless_here(settings, "tables", "--home", str(home), "--feeds", str(feeds))
    assert str(home) in there.stdout.replace("\n", "")


def test_the_page_names_every_exit_code_and_who_asks():
    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text()
    codes = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {*ExitCode} | {130}
    section = page.split("## What asks first")[1].split("## ")[0]
    rows = re.findall(r"^\| (`[^|]*) \|[^|]*\| (yes|no)", section, re.MULTILINE)
    told = {word: asks for words, asks in rows for word in re.findall(r"`([a-z ]+)", words)}
    told = {name.split(" --")[0].strip(): asks for name, asks in told.items()}
    asking = {command for command in _LEAVES if "--yes" in options(command)}
    assert {name for name, asks in told.items() if asks == "yes"} == asking
    assert {*told} == {command for command in _LEAVES if "--dry-run" in options(command)}


def test_the_page_shows_the_shape_of_an_answer():
    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text()
    (shown,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    problem = Problem(
        what="feed games, uno", fact="is left as it is: known fails", exit_code=ExitCode.BLOCKED
    )
    assert json.loads(as_text("refresh", [], [problem])) == json.loads(shown)
