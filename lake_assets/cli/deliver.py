"""`lake-assets deliver`: what sinks have not got yet, sent in this shell."""

from contextlib import closing

from lake_assets.cli.answer import ExitCode, Problem, tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    LakeOption,
    SinkOption,
    endpoints_if_any,
    pick_feeds,
    told_to_stop,
)
from lake_assets.model.reports import DeliveryReport
from lake_assets.settings.load import load_settings
from lake_assets.streams.deliver import deliver_now, sinks_named


def deliver(
    *,
    sink: SinkOption = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send sinks the rows that they have not got yet, and end.

    For lakes whose streams do not run; these deliver by themselves. A row is sent at least once,
    and what is repeated after a kill has the same `Idempotency-Key`. Ctrl-C ends it after the calls
    in flight. Ends with 4 if rows became dead letters.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    sinks = sinks_named(pick_feeds(settings, feed), sink)
    done = []
    with closing(
        deliver_now(settings, sinks, endpoints_if_any(settings), told_to_stop())
    ) as reports:
        for report in reports:
            done.append(report)
            if not as_json:
                stdout.print(in_words(report), markup=False, highlight=False, soft_wrap=True)
    tell("deliver", done, filter(None, map(dead_letters, done)), as_json=as_json)


def dead_letters(report: DeliveryReport) -> Problem | None:
    """That rows became dead letters, if any did."""
    if not report.dead_rows:
        return None
    return Problem(
        what=f"sink {report.feed}.{report.sink}",
        fact=f"{report.dead_rows:,} rows are dead letters",
        next_step="Mend what refuses them, and run `lake-assets redeliver`",
        exit_code=ExitCode.BLOCKED,
    )


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
