"""The command line's entry point: one Typer app, one error handler."""

import sys
from importlib.metadata import version
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
    context_settings={"help_option_names": ["-h", "--help"]},  # commands have it from here
)


_VERBOSE = "--verbose"


def _tell_version(is_asked: bool) -> None:  # noqa: FBT001 - as Typer calls it
    if is_asked:
        print(f"lake-assets {version('lake-assets')}")
        raise typer.Exit


@app.callback()
def options(
    *,
    is_version_asked: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_tell_version, is_eager=True),
    ] = False,
    verbose: Annotated[
        bool, typer.Option(_VERBOSE, help="Show the whole trace of an error; goes anywhere.")
    ] = False,
) -> None:
    """Name the options that every command has or that need none; `run` heeds the first."""
    del is_version_asked, verbose


def run() -> None:
    """Run the command line."""
    run_app(app, "lake-assets")


def run_app(commands: typer.Typer, program: str | None = None) -> None:
    """Run a Typer app; an error of ours is one line on standard error and exit code 1.

    `program` is what it is called, however this process was started.
    """
    words = [word for word in sys.argv[1:] if word != _VERBOSE]
    try:
        commands(words, prog_name=program)
    except LakeAssetsError as problem:
        if _VERBOSE in sys.argv:
            raise
        stderr.print(f"[red]error[/red]: {escape(str(problem))}", soft_wrap=True, highlight=False)
        sys.exit(1)
