"""`lake-assets config`: the settings as they are, and who says so."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from lake_assets.cli.answer import Problem, tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.settings.complaints import has_secrets
from lake_assets.settings.load import load_settings, origins, unknown_variables
from lake_assets.settings.schema import Settings
from lake_assets.settings.variables import fields_by_variable

app = typer.Typer(help="Show the settings as they are, and who says so.", no_args_is_help=True)

_MASK = "***"

_REGISTRY_URL, _REGISTRY_USER, _REGISTRY_PASSWORD = (
    f"LAKE_ASSETS_REGISTRY_{field}" for field in ("URL", "USER", "PASSWORD")
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One setting."""

    variable: str
    value: object
    """Masked, if it may be a secret."""

    origin: str
    """`default`, an option, or the variable that says it."""


@app.callback()
def _group() -> None:
    """Have commands below it, though there is one alone."""


@app.command()
def show(
    *,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every setting: its value, and where that comes from; secrets are masked.

    Ends with 1 if a variable begins with LAKE_ASSETS_ and is no setting, as one that is mistyped.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder, with_unknown=True)
    options = {"LAKE": lake, "HOME": home, "FEEDS": feeds_folder}
    found = settings_of(settings, {name for name, place in options.items() if place is not None})
    problems = [Problem.of(problem) for problem in unknown_variables()]
    tell("config show", found, problems, as_json=as_json, show=lambda: _show(found))


def settings_of(settings: Settings, options: set[str]) -> list[Setting]:
    """All settings, in the order in which they are declared.

    Args:
        settings: as they are.
        options: the names of those that a command's option says.
    """
    said = {**origins(), **{f"LAKE_ASSETS_{name}": f"--{name.lower()}" for name in options}}
    if settings.registry.user is not None and _REGISTRY_USER not in said:  # its address says it
        said.update(dict.fromkeys((_REGISTRY_USER, _REGISTRY_PASSWORD), said[_REGISTRY_URL]))
    return [
        Setting(
            variable=variable,
            value=_shown(settings, way, kind),
            origin=said.get(variable, "default"),
        )
        for variable, (way, kind) in fields_by_variable().items()
    ]


def _shown(settings: Settings, way: Sequence[str], kind: object) -> object:
    value: object = settings
    for step in way:
        value = getattr(value, step)
    if isinstance(value, Mapping):
        return dict.fromkeys(value, _MASK) if has_secrets(kind) else dict(value)
    if has_secrets(kind):
        return None if value is None else _MASK
    if way == ("lake",):  # as it is used: a `Path` loses a slash of `s3://`
        return str(settings.lake_root)
    if value is None and way == ("state",):
        return str(settings.state_dir)
    return str(value) if isinstance(value, Path) else value


def _show(found: Sequence[Setting]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("variable", no_wrap=True)
    for title in ("value", "from"):
        table.add_column(title, overflow="fold")
    for one in found:
        texts = (one.variable, _text(one.value), one.origin)
        table.add_row(*map(Text, texts), style=None if one.origin == "default" else "bold")
    stdout.print(table)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
