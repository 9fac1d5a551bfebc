"""What a command answers: its result, what is wrong, its exit code; for people or as JSON.

With `--json` the last line of standard output is one object, of the same shape for all commands:
`command`, `ok`, `result` and `problems`. What is wrong is told on standard error, too, as it is
without. What a result holds is each command's own.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import date, datetime
from enum import IntEnum, StrEnum
from pathlib import PurePath
from typing import Any, Self

import typer
from rich.markup import escape

from lake_assets.cli.console import stderr
from lake_assets.errors import LakeAssetsError, UsageError, with_step


class ExitCode(IntEnum):
    """How a command ended; of several that fit, the first here after `OK` counts."""

    OK = 0
    ERROR = 1  # it was not done, or not all of it, or something does not answer
    USAGE = 2  # it was not understood: an unknown option, two that do not go together
    BLOCKED = 4  # it was done, and something is held up until somebody acts
    CHECK = 3  # it was done, and a check of severity `error` fails


class Severity(StrEnum):
    """Whether a command ends well with a problem."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something that is wrong: the thing, the fact, the next step, and the place if it has one."""

    what: str
    fact: str = ""
    next_step: str = ""
    severity: Severity = Severity.ERROR
    file: str | None = None
    line: int | None = None
    column: int | None = None
    exit_code: ExitCode = ExitCode.ERROR
    """Of a command that ends with it; nothing of a warning's."""

    is_told: bool = False
    """Whether people have read it already, as in a table."""

    @classmethod
    def of(cls, error: LakeAssetsError, *, is_told: bool = False) -> Self:
        """What an error says, in its parts."""
        return cls(
            what=str(getattr(error, "thing", error)),
            fact=str(getattr(error, "fact", "")),
            next_step=str(getattr(error, "next_step", "")),
            file=getattr(error, "file", None),
            line=getattr(error, "line", None),
            column=getattr(error, "column", None),
            exit_code=exit_code_of(error),
            is_told=is_told,
        )

    @property
    def words(self) -> str:
        """It in one line."""
        said = f"{self.what}: {self.fact}" if self.fact else self.what
        return with_step(said, self.next_step)

    @property
    def is_error(self) -> bool:
        """Whether the command does not end well with it."""
        return self.severity is Severity.ERROR

    @property
    def as_json(self) -> dict[str, object]:
        """Its part of the answer."""
        own = ("severity", "what", "fact", "next_step", "file", "line", "column")
        return {name: getattr(self, name) for name in own}


def exit_code_of(error: LakeAssetsError) -> ExitCode:
    """How a command ends with an error."""
    return ExitCode.USAGE if isinstance(error, UsageError) else ExitCode.ERROR


def tell(
    command: str,
    result: object,
    problems: Iterable[Problem] = (),
    *,
    as_json: bool,
    show: Callable[[], object] | None = None,
) -> None:
    """Answer, and end if a problem is an error.

    Args:
        command: its words, such as `services status`.
        result: what JSON can say, dataclasses, times and paths.
        problems: told on standard error, unless they are already.
        as_json: whether the answer is an object on standard output, and not what `show` prints.
        show: prints the result for people.

    Raises:
        typer.Exit: a problem is an error; it has the exit code.
    """
    found = list(problems)
    if show is not None and not as_json:
        show()
    for problem in found:
        if not problem.is_told:
            complain(problem)
    if as_json:
        print(as_text(command, result, found), flush=True)
    if code := code_of(found):
        raise typer.Exit(code)


def complain(problem: Problem) -> None:
    """Say on standard error what is wrong, in one line."""
    colour = "red" if problem.is_error else "yellow"
    words = f"[{colour}]{problem.severity}[/{colour}]: {escape(problem.words)}"
    stderr.print(words, soft_wrap=True, highlight=False, emoji=False)


def as_text(command: str, result: object, problems: Sequence[Problem] = ()) -> str:
    """The one object of `--json`, in a line."""
    answer = {
        "command": command,
        "ok": not any(problem.is_error for problem in problems),
        "result": result,
        "problems": [problem.as_json for problem in problems],
    }
    return json.dumps(answer, default=_plain)


def code_of(problems: Iterable[Problem]) -> ExitCode:
    """How a command with these ends."""
    found = {problem.exit_code for problem in problems if problem.is_error}
    return next((code for code in ExitCode if code in found), ExitCode.OK)


def _plain(value: Any) -> object:  # noqa: ANN401 - as `json` gives it
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | tuple):
        return sorted(value) if not isinstance(value, tuple) else list(value)
    fact = f"{type(value).__name__} is nothing that JSON can say"
    raise TypeError(fact)
