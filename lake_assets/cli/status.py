"""`lake-assets status`: how a lake is, on one screen and for scripts."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from lake_assets.cli.answer import ExitCode, Problem, Severity, tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    LakeOption,
    endpoints_if_any,
    pick_feeds,
)
from lake_assets.model import checks
from lake_assets.model.tables import in_words
from lake_assets.settings.load import load_settings
from lake_assets.streams.stream_standing import StreamState
from lake_assets.supervision.lake_status import lake_status
from lake_assets.supervision.status_facts import (
    FeedStatus,
    LakeStatus,
    SinkStatus,
    StreamsState,
    StreamsStatus,
    ViewStatus,
)

_START = "Start them: `lake-assets stream`, or turn on Dagster's sensor `supervisor`"

_NO_ANSWER = ", since its source does not answer"

_DELIBERATE = {StreamState.STOPPED, StreamState.STOPPING}

_BROKEN = {
    StreamsState.NOT_RUNNING: _START,
    StreamsState.STALLED: "Their log says more; Dagster's supervisor restarts them",
    StreamsState.SILENT: "Look at the process that holds the lock; Dagster's supervisor ends it",
}


def status(
    *,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show streams, lag, last refreshes, failing checks, sinks and disk of this lake, and end.

    Needs no Spark and no running streams. Ends with 1 if streams that should run do not, with 4 if
    a feed or a sink stands still until somebody acts or has dead letters, and with 3 if a check or
    an expectation of severity `error` fails.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    feeds = pick_feeds(settings, feed)
    found = lake_status(settings, feeds, endpoints_if_any(settings))
    tell("status", found, problems_of(found), as_json=as_json, show=lambda: _show(found))


def problems_of(found: LakeStatus) -> Iterator[Problem]:
    """What is wrong with a lake."""
    streams = found.streams
    if streams.is_wanted and streams.state in _BROKEN:
        is_gone = streams.state is StreamsState.NOT_RUNNING
        how = "do not run" if is_gone else f"are {streams.state}"
        fact = f"{how}: {streams.detail}" if streams.detail else how
        yield Problem(what="streams", fact=fact, next_step=_BROKEN[streams.state])
    elif streams.state is StreamsState.WAITING:
        fact = f"wait: {streams.detail}"
        yield Problem(what="streams", fact=fact, severity=Severity.WARNING)
    for feed in found.feeds:
        if feed.state is StreamState.BLOCKED:
            fact = f"stands still: {feed.detail}"
            yield Problem(what=f"feed {feed.feed}", fact=fact, exit_code=ExitCode.BLOCKED)
    for sink in found.sinks:
        if sink.dead_letters:
            yield Problem(
                what=f"sink {sink.sink}",
                fact=f"has {sink.dead_letters:,} dead letters",
                next_step="Mend what refuses them, and run `lake-assets redeliver`",
                exit_code=ExitCode.BLOCKED,
            )
    for one in found.failing:
        is_error = one.severity is checks.Severity.ERROR
        yield Problem(
            what=f"{one.name} of {one.feed}, {in_words(one.key)}",
            fact=f"fails since {one.since:%Y-%m-%d %H:%M:%S} UTC: {one.words}",
            severity=Severity.ERROR if is_error else Severity.WARNING,
            exit_code=ExitCode.CHECK,
        )


def _show(found: LakeStatus) -> None:
    stdout.print(f"lake     {escape(found.lake)}", highlight=False, soft_wrap=True)
    stdout.print(f"streams  {escape(_in_words(found.streams))}", highlight=False, soft_wrap=True)
    used = f"{decimal(found.disk_free_bytes)} of {decimal(found.disk_size_bytes)} free"
    stdout.print(f"disk     {used}", highlight=False)
    stdout.print(_feeds(found.feeds))
    for note in _notes(found.feeds):
        stdout.print(escape(note), highlight=False, soft_wrap=True)
    if found.views:
        stdout.print(_views(found.views))
    if found.sinks:
        stdout.print(_sinks(found.sinks))


def _in_words(streams: StreamsStatus) -> str:
    words: str = streams.state.value
    if streams.pid is not None and streams.since is not None:
        since = f"{streams.since:%Y-%m-%d %H:%M:%S} UTC"
        words += f" since {since} on {streams.host} (pid {streams.pid}, by {streams.owner})"
    elif streams.host is not None:
        words += f": {streams.host}"
    if not streams.is_wanted and streams.state is StreamsState.NOT_RUNNING:
        words += "; every feed runs on a schedule of its own"
    return f"{words}; {streams.detail}" if streams.detail else words


def _notes(feeds: Sequence[FeedStatus]) -> Iterator[str]:
    """What is too long for a cell of the table of feeds."""
    for one in feeds:
        if one.state in _DELIBERATE:
            yield f"{one.feed} was stopped {one.detail}"
        if one.lag_rows is None:
            why = f": {one.lag_unknown}" if one.lag_unknown else _NO_ANSWER
            yield f"{one.feed}: the lag is not known{why}"


def _feeds(feeds: Sequence[FeedStatus]) -> Table:
    shown = Table()
    shown.add_column("feed", overflow="fold")
    shown.add_column("stream", overflow="fold")
    for title in ("lag", "demux behind", "last batch", "quarantine", "waiting"):
        shown.add_column(title, justify="right")
    for one in feeds:
        lag = "?" if one.lag_rows is None else _rows_and_time(one.lag_rows, one.lag_s)
        shown.add_row(
            one.feed,
            one.state.value,
            lag,
            _rows_and_time(one.behind_rows, one.behind_s),
            _ago(one.last_batch_at),
            f"{one.quarantined_rows:,} ({one.quarantine_share:.2%})",
            f"{one.waiting_rows:,}",
        )
    return shown


def _views(views: Sequence[ViewStatus]) -> Table:
    shown = Table()
    shown.add_column("view", overflow="fold")
    for title in ("tables", "last refresh"):
        shown.add_column(title, justify="right")
    for one in views:
        shown.add_row(f"{one.feed}.{one.view}", f"{one.tables:,}", _ago(one.refreshed_at))
    return shown


def _sinks(sinks: Sequence[SinkStatus]) -> Table:
    shown = Table()
    shown.add_column("sink", overflow="fold")
    for title in ("behind", "dead letters"):
        shown.add_column(title, justify="right")
    for one in sinks:
        behind = _time(one.behind_s) if one.behind_s else "-"
        shown.add_row(one.sink, behind, f"{one.dead_letters:,}")
    return shown


def _rows_and_time(rows: int, seconds: float | None) -> str:
    if not rows:
        return "0"
    return f"{rows:,} rows" if seconds is None else f"{rows:,} rows, {_time(seconds)}"


def _ago(at: datetime | None) -> str:
    if at is None:
        return "never"
    return f"{_time(max(0.0, (datetime.now(UTC) - at).total_seconds()))} ago"


def _time(seconds: float) -> str:
    """Two units of it: `14 s`, `3 min 2 s`, `2 h 5 min`, `3 d 4 h`."""
    left = round(seconds)
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count or (size == 1 and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
