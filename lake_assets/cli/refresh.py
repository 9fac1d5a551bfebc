"""`lake-assets refresh`: gold views brought up to date."""

from typing import Annotated

import typer

from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedOption, LakeOption, for_each, pick_feeds
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
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key", "--game", help="Only this key; may be given again.", show_default="all keys"
        ),
    ] = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
) -> None:
    """Bring gold views up to date with silver; keys that did not change are left alone.

    All keys of a view are computed in one Spark job; one in free SQL takes a query a key. Readers
    see the old rows or the new ones. A key that fails a blocking expectation or check is left as
    it is; gold's checks come last. With --key, views over all keys are left out.
    """
    settings = load_settings(lake=lake)
    views = [view] if view else None
    for_each(
        turns_of(pick_feeds(settings, feed, view=view, keys=key)),
        lambda one: _show(refresh_gold(settings, one, views=views, keys=key)),
    )


def _show(found: Refreshed) -> None:
    """Print what became of a feed's views, and which of their checks fail."""
    for report in found.reports:
        show_report(report)
    for results in found.gold_checks.values():
        for result in results:
            if not result.passed:
                name = f"check {result.name} of {result.table.name}"
                _complain(f"{result.severity}: {name} fails: {result.words}")


def show_report(report: RefreshReport) -> None:
    """Print what became of one view; what was held up goes to standard error."""
    for refreshed in report.refreshed:
        how = f" ({refreshed.mode}: {refreshed.why})" if refreshed.why else ""
        text = f"{refreshed.view} of {in_words(refreshed.key)}: {refreshed.rows:,} rows{how}"
        stdout.print(text, markup=False, highlight=False, soft_wrap=True)
    if report.up_to_date:
        stdout.print(f"{len(report.up_to_date)} were up to date", highlight=False)
    for key, reason in report.blocked.items():
        what = "the view" if key == EVERY_KEY else key
        _complain(f"{what} is left as it is: {reason}")
    if not report.refreshed and not report.up_to_date and not report.blocked:
        stdout.print("nothing to refresh: silver has no table yet; run `lake-assets stream`")


def _complain(text: str) -> None:
    stderr.print(text, markup=False, highlight=False, soft_wrap=True)
