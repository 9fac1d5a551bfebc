"""`lake-assets stream`: the two streaming queries of every feed, in this shell."""

import signal
from contextlib import closing
from typing import Annotated

import typer

from lake_assets.cli.console import stderr
from lake_assets.cli.shared import LakeOption
from lake_assets.feeds.load import load_feeds
from lake_assets.model.reports import BatchReport, GoldRefreshed, RefreshReport, ViewFailed, Waiting
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.streams.run import StreamEvent, stream_events


def stream(
    *,
    until_caught_up: Annotated[
        bool,
        typer.Option(
            "--until-caught-up", help="End when all that is in the topic now is in silver."
        ),
    ] = False,
    lake: LakeOption = None,
) -> None:
    """Take events from Kafka to bronze and on to silver, until Ctrl-C.

    Each event lands in exactly one table exactly once, however often this is stopped or killed.
    Only one process streams into a lake at a time; `lake-assets demo` and Dagster are such too.
    """
    settings = load_settings(lake=lake)
    feeds = load_feeds(settings.feeds)
    endpoints = control.locate(settings, feeds)
    # A service manager stops a process with SIGTERM; it should end as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    events = stream_events(settings, feeds, endpoints, owner="cli", until_caught_up=until_caught_up)
    waiting = ""
    with closing(events):
        try:
            for event in events:
                waiting = _show(event, waiting)
        except KeyboardInterrupt:
            stderr.print("stopping after the batch in hand …")


def _show(event: StreamEvent, waiting: str) -> str:
    """Print an event; the same waiting is said once. Returns what is waited for."""
    if isinstance(event, Waiting) and event.reason != waiting:
        stderr.print(f"waiting: {event.reason}", markup=False, highlight=False, soft_wrap=True)
        return event.reason
    if isinstance(event, BatchReport):
        seconds = sum(event.seconds.values())
        rows = sum(event.rows.values())
        stderr.print(
            f"{event.feed} {event.stage} batch {event.batch_id}: {rows:,} rows into "
            f"{len(event.rows)} tables in {seconds:.1f} s",
            highlight=False,
        )
        return ""
    if isinstance(event, ViewFailed):
        text = f"view {event.view} of {event.feed}: {event.reason}"
        stderr.print(text, markup=False, highlight=False, soft_wrap=True)
    if isinstance(event, GoldRefreshed):
        for report in event.refreshed.reports:
            _show_refresh(event.feed, report)
    return waiting


def _show_refresh(feed: str, report: RefreshReport) -> None:
    seconds = sum(report.seconds.values())
    if report.refreshed:
        view, read = report.refreshed[0].view, sum(one.rows_read for one in report.refreshed)
        stderr.print(
            f"{feed} view {view}: {read:,} rows into {len(report.refreshed)} tables "
            f"in {seconds:.1f} s",
            highlight=False,
        )
