"""`lake-assets doctor`: what this machine has and lacks."""

from collections.abc import Sequence
from functools import partial

from rich.table import Table
from rich.text import Text

from lake_assets.catalog.sync import open_catalog
from lake_assets.cli.answer import Problem, Severity, tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedsOption,
    HomeOption,
    JsonOption,
    LakeOption,
    endpoints_of_registry,
)
from lake_assets.errors import CatalogError, FeedError, SettingsError
from lake_assets.services.checkup import examine
from lake_assets.services.finding import Finding, Health, broken
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.validation.run import validate

_COLOURS = {Health.OK: "green", Health.LATER: "yellow", Health.BROKEN: "red"}


def doctor(
    *,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at feeds, Java, jars, Kafka, the registry, the lake's folder and the disk.

    Each comes with its state and, if something is to be done, with what. "later" is nothing to
    worry about: it comes by itself or with the command beside it. Exit code 1 if a thing is broken.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder, with_unknown=True)
    findings = [*_feeds(settings), *examine(settings), *_catalog(settings)]
    problems = [_problem(one) for one in findings if one.health is not Health.OK]
    tell("doctor", findings, problems, as_json=as_json, show=lambda: _show(findings))


def _problem(found: Finding) -> Problem:
    is_broken = found.health is Health.BROKEN
    return Problem(
        what=found.thing,
        fact=found.fact,
        next_step=found.fix,
        severity=Severity.ERROR if is_broken else Severity.WARNING,
        is_told=True,
    )


def _show(findings: Sequence[Finding]) -> None:
    table = Table("thing", "state")
    # Folded, never cut short: paths and commands are there to be copied.
    table.add_column("what was found", overflow="fold")
    table.add_column("what to do", overflow="fold")
    for finding in findings:
        state = Text(finding.health, style=_COLOURS[finding.health])
        table.add_row(Text(finding.thing), state, Text(finding.fact), Text(finding.fix))
    stdout.print(table)


_SHOWN = 2
"""Problems of feeds that are named; `lake-assets validate` has all."""


def _feeds(settings: Settings) -> list[Finding]:
    """Whether feeds fit what they read, as far as it can be told without Spark."""
    try:
        report = validate(settings, partial(endpoints_of_registry, settings))
    except FeedError as problem:
        return [broken("feeds", problem)]
    if not report.errors:
        fact = f"{len(report.feeds)} valid ({', '.join(report.feeds)})"
        if not report.warnings:
            return [Finding(thing="feeds", health=Health.OK, fact=fact)]
        fact += "; " + "; ".join(str(one) for one in report.warnings[:_SHOWN])
        return [Finding(thing="feeds", health=Health.LATER, fact=fact, fix=_VALIDATE)]
    first = "; ".join(f"{one.thing}: {one.fact}" for one in report.errors[:_SHOWN])
    more = len(report.errors) - _SHOWN
    fact = f"{first}; and {more} more" if more > 0 else first
    return [Finding(thing="feeds", health=Health.BROKEN, fact=fact, fix=_VALIDATE)]


_VALIDATE = "lake-assets validate"


def _catalog(settings: Settings) -> list[Finding]:
    """Whether the catalogue that tables are registered in answers, if there is one."""
    if settings.catalog.kind is None:
        return []
    try:
        with open_catalog(settings) as catalog:
            fact = f"{catalog.title}, {len(catalog.databases())} databases"
    except (CatalogError, SettingsError) as problem:
        return [broken("catalogue", problem)]
    return [Finding(thing="catalogue", health=Health.OK, fact=fact)]
