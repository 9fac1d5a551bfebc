"""`lake-assets deliver`: what sinks have not got yet, sent in this shell."""

from contextlib import closing
from typing import Annotated

import typer

from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    LakeOption,
    endpoints_if_any,
    pick_feeds,
    told_to_stop,
)
from lake_assets.model.reports import DeliveryReport
from lake_assets.settings.load import load_settings
from lake_assets.streams.deliver import deliver_now, sinks_named


def deliver(
    *,
    sink: Annotated[
        str | None, typer.Option(help="Only this sink.", show_default="all sinks")
    ] = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
) -> None:
    """Send sinks the rows that they have not got yet, and end.

    For lakes whose streams do not run; these deliver by themselves. A row is sent at least once,
    and what is repeated after a kill has the same `Idempotency-Key`. Ctrl-C ends it after the calls
    in flight.
    """
    settings = load_settings(lake=lake)
    sinks = sinks_named(pick_feeds(settings, feed), sink)
    dead = 0
    with closing(
        deliver_now(settings, sinks, endpoints_if_any(settings), told_to_stop())
    ) as reports:
        for report in reports:
            stdout.print(in_words(report), markup=False, highlight=False, soft_wrap=True)
            dead += report.dead_rows
    if dead:
        raise typer.Exit(1)


def in_words(report: DeliveryReport) -> str:
    """A line that says what was done."""
    text = f"{report.feed}.{report.sink}: {report.rows:,} rows in {report.calls:,} calls"
    if report.retries:
        text += f", {report.retries:,} tries more"
    if report.latency_s:
        text += f", {report.latency_s['p50'] * 1000:,.0f} ms (99 of 100 within "
        text += f"{report.latency_s['p99'] * 1000:,.0f})"
    if report.dead_rows:
        text += f"; {report.dead_rows:,} rows are dead letters"
    return text
