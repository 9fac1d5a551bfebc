"""The command line's entry point: one Typer app, one error handler."""

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from traceback import print_exception
from typing import Annotated, NoReturn

import typer
from typer.rich_utils import rich_abort_error, rich_format_error

from lake_assets.cli.answer import ExitCode, Problem, Severity, as_text, complain, exit_code_of
from lake_assets.cli.former_names import advice
from lake_assets.cli.lazy_commands import LazyCommands, words_of
from lake_assets.cli.usage_words import in_words
from lake_assets.errors import FeedError, LakeAssetsError, first_line
from lake_assets.feeds.problems import each_of as each_of_feeds
from lake_assets.settings.several import each_of

app = typer.Typer(
    name="lake-assets",
    cls=LazyCommands,
    help="A lakehouse that one command starts: Kafka to Delta with Spark, seen by Dagster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},  # commands have it from here
)


_VERBOSE, _JSON = "--verbose", "--json"

_INTERRUPTED = 130
"""The exit code that Typer gives a command that Ctrl-C ended."""

_INTERRUPTION = Problem(what="command", fact="was interrupted (Ctrl-C)")


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
    """Run the command line; standard output that takes no more is one line, or nothing."""
    try:
        try:
            run_app(app, "lake-assets")
        finally:
            sys.stdout.flush()
    except OSError as error:
        if not _is_of_output(error):
            raise
        # What is left in its buffer would be an error again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno != errno.EPIPE:  # else who reads has enough, as `head`
            fact = f"cannot be written ({error.strerror})"
            step = "Write it somewhere else, or make room"
            complain(Problem(what="standard output", fact=fact, next_step=step))
        sys.exit(ExitCode.ERROR)


def _is_of_output(error: OSError) -> bool:
    """Whether it was raised where standard output is written, and not where tables are."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    is_no_room = error.errno in {errno.EPIPE, errno.ENOSPC} and error.filename is None
    return is_no_room and module.startswith(("lake_assets.cli.", "rich.", "typer."))


def run_app(commands: typer.Typer, program: str | None = None) -> None:
    """Run a Typer app; an error of ours is one line on standard error, and an exit code.

    With `--json` it is an object on standard output, too. `program` is what it is called, however
    this process was started.
    """
    words = _words()
    try:
        _warn_of_unknown(words)
        code = commands(words, prog_name=program, standalone_mode=False)
    except LakeAssetsError as error:
        _end(words, _told(error), exit_code_of(error))
    except typer.TyperException as error:
        _end(words, [_told_of_usage(error, words, program)], error.exit_code)
    except KeyboardInterrupt:  # while modules are imported; Typer sees to it later
        end_interrupted()
    except typer.Abort:
        rich_abort_error()
        _end(words, [Problem(what="command", fact="was not confirmed")], ExitCode.ERROR)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            _end(words, _told_of_file(error), ExitCode.ERROR)
        # A defect, or a machine that gives no more: the trace is told, and JSON is whole.
        fact = f"{type(error).__name__}: {first_line(error)}"
        _answer(words, [Problem(what="command", fact=fact)])
        raise
    else:
        _end_with(words, code)


def _end_with(words: Sequence[str], code: object) -> NoReturn:
    if code == _INTERRUPTED:
        _answer(words, [_INTERRUPTION])
    sys.exit(code if isinstance(code, int) else ExitCode.OK)


def end_interrupted() -> NoReturn:
    """End as a command does that Ctrl-C ended before Typer saw to it."""
    _end(_words(), [_INTERRUPTION], _INTERRUPTED)


def _words() -> list[str]:
    return [word for word in sys.argv[1:] if word != _VERBOSE]


def _told(error: LakeAssetsError) -> Sequence[Problem]:
    several = each_of_feeds(error) if isinstance(error, FeedError) else each_of(error)
    return _shown(error, [Problem.of(one) for one in several])


def _shown(error: Exception, problems: Sequence[Problem]) -> Sequence[Problem]:
    if _VERBOSE in sys.argv:
        print_exception(error)
    else:
        for problem in problems:
            complain(problem)
    return problems


def _told_of_file(error: OSError) -> Sequence[Problem]:
    """Of a file that the system refuses, such as another user's: who runs a command can mend it."""
    problem = Problem(
        what=str(error.filename),
        fact=f"cannot be read or written ({error.strerror})",
        next_step="Correct it or its permissions; `--verbose` shows where it was needed",
    )
    return _shown(error, [problem])


def _told_of_usage(
    error: typer.TyperException, words: Sequence[str], program: str | None
) -> Problem:
    option = getattr(error, "option_name", None)
    known = advice(words_of(words), option, error.format_message())
    if known is not None:
        error.message = known
        vars(error)["possibilities"] = None  # which it would name besides
    elif isinstance(error.message, str):
        error.message = in_words(error.message)
    rich_format_error(error)  # type: ignore[arg-type] # its own, which are all that it raises
    called = " ".join(filter(None, [program or "", words_of(words)]))
    fact = " ".join(error.format_message().split()).rstrip(".")  # choices come a line each
    return Problem(what="command line", fact=fact, next_step=f"See `{called} --help`")


def _warn_of_unknown(words: Sequence[str]) -> None:
    """Tell of variables that look like settings' and are none; what shows settings tells itself."""
    if not words or words[0] in {"config", "doctor"} or {"-h", "--help", "--version"} & {*words}:
        return
    # Most of what a list of commands needs is quicker than this.
    from lake_assets.settings.load import unknown_variables  # noqa: PLC0415

    for error in unknown_variables():
        complain(replace(Problem.of(error), severity=Severity.WARNING))


def _end(words: Sequence[str], problems: Sequence[Problem], code: int) -> NoReturn:
    _answer(words, problems)
    sys.exit(code)


def _answer(words: Sequence[str], problems: Sequence[Problem]) -> None:
    if _JSON in words:
        print(as_text(words_of(words), None, problems), flush=True)
