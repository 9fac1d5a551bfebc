"""`lake-assets validate`: whether feeds fit what they read, before anything starts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lake_assets.cli.answer import Problem, Severity, tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    LakeOption,
    endpoints_of_registry,
)
from lake_assets.errors import RuntimeSetupError, with_step
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.validation.quick import Problem as Told
from lake_assets.validation.run import Judged, Report, SecondJudge
from lake_assets.validation.run import validate as judge


def validate(
    *,
    feed: FeedOption = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Without Spark: some two seconds, and no types are looked at."
        ),
    ] = False,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check every feed before anything starts: YAML, fields, SQL, columns, functions, keys, crons.

    Each problem comes with its file, line and column, and what would be right. Columns are those of
    the schema: the declared one, or the registered one, if the registry answers or its answers are
    kept; else a warning says so. Spark's analyser has the last word, which takes some 20 seconds;
    nothing is read and nothing is written. Exit code 1 if something is wrong, 0 with warnings.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    unasked: list[Problem] = []
    second = None if quick else _asking_spark(settings, unasked)
    report = judge(settings, partial(endpoints_of_registry, settings), only=feed, second=second)
    found = [*_problems(report), *unasked]
    count = len(report.errors)
    result = {"feeds": report.feeds, "errors": count, "warnings": len(found) - count}
    tell("validate", result, found, as_json=as_json, show=lambda: _show(report))


def _show(report: Report) -> None:
    for one in report.found:
        error = one.error
        place = ":".join(
            str(part) for part in (_near(error.file), error.line, error.column) if part
        )
        colour = "yellow" if one.is_warning else "red"
        kind = "warning" if one.is_warning else "error"
        said = with_step(error.fact, error.next_step)
        words = f"{escape(place or error.thing)}: [{colour}]{kind}[/{colour}]: {escape(said)}"
        stdout.print(words, soft_wrap=True, highlight=False, emoji=False)
    count = len(report.errors)
    if count:
        stdout.print(f"{count} {'problem' if count == 1 else 'problems'}", highlight=False)
    else:
        names = ", ".join(report.feeds)
        stdout.print(f"feeds: {len(report.feeds)} valid ({names})", highlight=False, soft_wrap=True)


def _near(file: str | None) -> str | None:
    """A path as short as it can be from here."""
    if file is None or not Path(file).is_relative_to(Path.cwd()):
        return file
    return str(Path(file).relative_to(Path.cwd()))


def _problems(report: Report) -> Iterator[Problem]:
    for one in report.found:
        told = Problem.of(one.error, is_told=True)
        yield replace(told, severity=Severity.WARNING) if one.is_warning else told


def _asking_spark(settings: Settings, unasked: list[Problem]) -> SecondJudge:
    """Spark's analyser as a judge; where it does not start, that is a warning."""

    def ask(judged: Sequence[Judged]) -> Mapping[str, Sequence[Told]]:
        from lake_assets.validation.analyser import analyser  # noqa: PLC0415 - takes seconds
        from lake_assets.validation.by_spark import judge_by_spark  # noqa: PLC0415 - as above

        try:
            with analyser(settings) as session:
                return judge_by_spark(session, judged)
        except RuntimeSetupError as problem:
            fact = f"types were not checked by Spark, because {problem.thing} {problem.fact}"
            step = problem.next_step
            warning = Severity.WARNING
            unasked.append(Problem(what="feeds", fact=fact, next_step=step, severity=warning))
            return {}

    return ask
