"""The reference of commands, as Typer writes it."""

import re

import typer
from typer.cli import get_docs_for_click  # what `typer utils docs` calls; tried on 0.29

from lake_assets.cli.lazy_commands import SUMMARIES, load

_INTRODUCTION = """\
# Commands

The commands live in `.venv/bin`, and `--help` says of each what this page says. `--verbose` goes
with every one of them and shows the whole trace of an error. An error is one line on standard
error, which names the thing, the fact and the next step. Exit codes, the shape of `--json` and
options that all commands have are on [a page of their own](../commands.md).
"""


def page() -> str:
    """The whole page as Markdown; it names every command with its arguments and options."""
    return "\n".join([_INTRODUCTION, *map(_section, SUMMARIES)])


def _section(name: str) -> str:
    command = load(name)
    whole_name = f"lake-assets {name}"
    context = typer.Context(command, info_name=whole_name)
    text = get_docs_for_click(obj=command, ctx=context, indent=1, name=whole_name)
    # `<home>` would be taken for a tag of HTML, and be seen by nobody.
    parts = re.split(r"(```.*?```|`[^`]*`)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)
