"""`lake-assets redeliver`: dead letters of sinks, sent again."""

from contextlib import closing
from typing import Annotated

import typer

from lake_assets.cli.console import stdout
from lake_assets.cli.deliver import in_words
from lake_assets.cli.shared import (
    FeedOption,
    LakeOption,
    endpoints_if_any,
    pick_feeds,
    told_to_stop,
)
from lake_assets.model.reports import RedeliveryReport
from lake_assets.settings.load import load_settings
from lake_assets.streams.deliver import redeliver_now, sinks_named


def redeliver(
    *,
    sink: Annotated[
        str | None, typer.Argument(help="Only this sink's.", show_default="all sinks")
    ] = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
) -> None:
    """Send the dead letters of sinks again, and end.

    For after the API, or the sink's `where` and `select`, was corrected: rows are shaped anew. A
    call with the rows that it had goes under the same `Idempotency-Key`. What is delivered is no
    dead letter any more. The streams may go on meanwhile. Ctrl-C ends it after the calls in flight.
    """
    settings = load_settings(lake=lake)
    sinks = sinks_named(pick_feeds(settings, feed), sink)
    left = 0
    with closing(
        redeliver_now(settings, sinks, endpoints_if_any(settings), told_to_stop())
    ) as reports:
        for report in reports:
            _show(report)
            left += report.done.dead_rows + report.missing_rows
    if left:
        raise typer.Exit(1)


def _show(report: RedeliveryReport) -> None:
    text = in_words(report.done)
    if report.missing_rows:
        text += f"; {report.missing_rows:,} rows stay dead letters: "
        text += "its tables have them no more, or the sink does not want them"
    stdout.print(text, markup=False, highlight=False, soft_wrap=True)
