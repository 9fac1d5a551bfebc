"""`lake-assets refresh`: gold views brought up to date."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from lake_assets.cli.answer import ExitCode, Problem, Severity, tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    KeysOption,
    LakeOption,
    for_each,
    pick_feeds,
)
from lake_assets.model import checks
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Refreshed, RefreshReport
from lake_assets.model.tables import EVERY_KEY, in_words
from lake_assets.model.view_order import turns_of
from lake_assets.settings.load import load_settings
from lake_assets.streams.refresh import refresh_gold


def refresh(
    *,
    view: Annotated[
        str | None, typer.Option(help="Only this view.", show_default="all views")
    ] = None,
    key: KeysOption = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring gold views up to date with silver; keys that did not change are left alone.

    All keys of a view are computed in one Spark job; one in free SQL takes a query a key. Readers
    see the old rows or the new ones. A key that fails a blocking expectation or check is left as
    it is; gold's checks come last. With --key, views over all keys are left out. Ends with 4 if a
    key or a view is left as it is, and with 3 if a check of severity `error` fails.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    views = [view] if view else None
    done: list[tuple[Feed, Refreshed]] = []

    def act(one: Feed) -> None:
        found = refresh_gold(settings, one, views=views, keys=key)
        done.append((one, found))
        if not as_json:
            show(found)

    failed = for_each(turns_of(pick_feeds(settings, feed, view=view, keys=key)), act)
    tell("refresh", as_result(done), [*failed, *problems_of(done)], as_json=as_json)


def show(found: Refreshed) -> None:
    """Print what became of a feed's views."""
    for report in found.reports:
        _show_report(report)


def problems_of(done: Iterable[tuple[Feed, Refreshed]]) -> Iterator[Problem]:
    """What was held up, and which checks of gold fail."""
    for feed, found in done:
        for report in found.reports:
            for key, reason in report.blocked.items():
                yield Problem(
                    what=f"feed {feed.feed}, {'the view' if key == EVERY_KEY else key}",
                    fact=f"is left as it is: {reason}",
                    exit_code=ExitCode.BLOCKED,
                )
        for result in (one for of_view in found.gold_checks.values() for one in of_view):
            is_error = result.severity is checks.Severity.ERROR
            if not result.passed:
                yield Problem(
                    what=f"check {result.name} of {result.table.name}",
                    fact=f"fails: {result.words}",
                    severity=Severity.ERROR if is_error else Severity.WARNING,
                    exit_code=ExitCode.CHECK,
                )


def as_result(done: Iterable[tuple[Feed, Refreshed]]) -> list[dict[str, Any]]:
    """What JSON has of it: an object a view that was looked at."""
    return [
        {
            "feed": feed.feed,
            "refreshed": report.refreshed,
            "up_to_date": [{"key": key, "view": view} for key, view in report.up_to_date],
            "blocked": report.blocked,
            "checks": [
                {
                    "check": one.name,
                    "table": one.table.name,
                    "key": one.key,
                    "passed": one.passed,
                    "severity": one.severity,
                    "words": one.words,
                }
                for refreshed in {one.view: None for one in report.refreshed}
                for one in found.gold_checks.get(refreshed, ())
            ],
            "seconds": report.seconds,
        }
        for feed, found in done
        for report in found.reports
    ]


def _show_report(report: RefreshReport) -> None:
    for refreshed in report.refreshed:
        how = f" ({refreshed.mode}: {refreshed.why})" if refreshed.why else ""
        text = f"{refreshed.view} of {in_words(refreshed.key)}: {refreshed.rows:,} rows{how}"
        stdout.print(text, markup=False, highlight=False, soft_wrap=True)
    if report.up_to_date:
        stdout.print(f"{len(report.up_to_date)} were up to date", highlight=False)
    if not report.refreshed and not report.up_to_date and not report.blocked:
        stdout.print("nothing to refresh: silver has no table yet; run `lake-assets stream`")
