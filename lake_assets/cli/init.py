"""`lake-assets init`: a project folder to begin with."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import JsonOption
from lake_assets.scaffold.create import create_project


def init(
    *,
    folder: Annotated[Path, typer.Argument(help="Of the project; made if it is not there.")],
    as_json: JsonOption = False,
) -> None:
    """Make a project folder: a feed, Dagster's workspace, containers, CI, a README.

    No file that is there is touched: if one of its names is taken, nothing is written.
    """
    names = create_project(folder)
    result = {"folder": folder.absolute(), "files": names}
    tell("init", result, as_json=as_json, show=lambda: _show(folder, names))


def _show(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        stdout.print(escape(name), highlight=False)
    where = escape(shlex.quote(str(folder)))
    stdout.print(f"next: cd {where}, and as README.md says", highlight=False, soft_wrap=True)
