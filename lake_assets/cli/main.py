"""The command line's entry point: one Typer app, one error handler."""

import sys
from typing import Annotated

import typer
from rich.markup import escape

from lake_assets.cli.console import stderr
from lake_assets.cli.lazy_commands import LazyCommands
from lake_assets.errors import LakeAssetsError

app = typer.Typer(
    name="lake-assets",
    cls=LazyCommands,
    help="A lakehouse that one command starts: Kafka to Delta with Spark, seen by Dagster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


_VERBOSE = "--verbose"


@app.callback()
def options(
    *,
    verbose: Annotated[
        bool, typer.Option(_VERBOSE, help="Show the whole trace of an error; goes anywhere.")
    ] = False,
) -> None:
    """Name the option that every command has; `run` heeds it."""
    del verbose


def run() -> None:
    """Run the command line."""
    run_app(app)


def run_app(commands: typer.Typer) -> None:
    """Run a Typer app; an error of ours is one line on standard error and exit code 1."""
    words = [word for word in sys.argv[1:] if word != _VERBOSE]
    try:
        commands(words)
    except LakeAssetsError as problem:
        if _VERBOSE in sys.argv:
            raise
        stderr.print(f"[red]error[/red]: {escape(str(problem))}", soft_wrap=True, highlight=False)
        sys.exit(1)
