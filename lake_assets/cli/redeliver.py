"""`lake-assets redeliver`: dead letters of sinks, sent again."""

from collections.abc import Sequence
from contextlib import closing

from lake_assets.cli.answer import ExitCode, Problem, tell
from lake_assets.cli.confirm import DryRunOption
from lake_assets.cli.console import stdout
from lake_assets.cli.deliver import dead_letters, in_words
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
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import RedeliveryReport
from lake_assets.model.sinks import Sink
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.sinks.standing import standing_of
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.deliver import redeliver_now, sinks_named


def redeliver(
    *,
    sink: SinkOption = None,
    dry_run: DryRunOption = False,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send the dead letters of sinks again, and end.

    For after the API, or the sink's `where` and `select`, was corrected: rows are shaped anew. A
    call with the rows that it had goes under the same `Idempotency-Key`. What is delivered is no
    dead letter any more. The streams may go on meanwhile. Ctrl-C ends it after the calls in flight.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    sinks = sinks_named(pick_feeds(settings, feed), sink)
    if dry_run:
        _look(settings, sinks, as_json=as_json)
        return
    done = []
    with closing(
        redeliver_now(settings, sinks, endpoints_if_any(settings), told_to_stop())
    ) as reports:
        for report in reports:
            done.append(report)
            if not as_json:
                _show(report)
    problems = (one for report in done for one in (dead_letters(report.done), _missing(report)))
    tell("redeliver", done, filter(None, problems), as_json=as_json)


def _missing(report: RedeliveryReport) -> Problem | None:
    if not report.missing_rows:
        return None
    return Problem(
        what=f"sink {report.done.feed}.{report.done.sink}",
        fact=f"{report.missing_rows:,} rows stay dead letters",
        next_step="Its tables have them no more, or the sink does not want them",
        exit_code=ExitCode.BLOCKED,
    )


def _show(report: RedeliveryReport) -> None:
    stdout.print(in_words(report.done), markup=False, highlight=False, soft_wrap=True)


def _look(settings: Settings, sinks: Sequence[tuple[Feed, Sink]], *, as_json: bool) -> None:
    lake, letters = lake_of(settings), {}
    for feed, sink in sinks:
        standing = standing_of(lake, feed, sink, 0.0)
        letters[f"{feed.feed}.{sink.name}"] = standing.new_letters if standing else 0

    def show_counts() -> None:
        for name, rows in letters.items():
            stdout.print(f"{name}: {rows:,} rows would be sent again", highlight=False)

    result = {"is_dry_run": True, "dead_letters": letters}
    tell("redeliver", result, as_json=as_json, show=show_counts)
