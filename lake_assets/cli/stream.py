"""`lake-assets stream`: feeds run in this shell."""

import signal
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from typing import Annotated, Any

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stderr
from lake_assets.cli.shared import FeedOption, FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport
from lake_assets.runtime.log_lines import log_lines
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.state.files import is_locked
from lake_assets.state.lake_id import ensure_bound
from lake_assets.streams.event_log import EventLog
from lake_assets.streams.run import StreamEvent, stream_events
from lake_assets.streams.run_feed import run_feed
from lake_assets.streams.running_streams import ToRun
from lake_assets.streams.skip_request import ask_to_retry, ask_to_skip


def stream(
    *,
    until_caught_up: Annotated[
        bool,
        typer.Option(
            "--until-caught-up", help="End when all that is in the topic now is in silver."
        ),
    ] = False,
    skip_batch: Annotated[
        str | None,
        typer.Option(
            "--skip-batch",
            metavar="FEED",
            help="Go on without the batch at which this feed failed last: its rows go to "
            "quarantine as they are (`skipped`).",
            show_default=False,
        ),
    ] = None,
    retry_batch: Annotated[
        str | None,
        typer.Option(
            "--retry-batch",
            metavar="FEED",
            help="Try the batch again at which this feed failed last.",
            show_default=False,
        ),
    ] = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take events from their sources to bronze and on to silver, until Ctrl-C.

    All feeds that have no schedule (`run`), unless one is named. With `--until-caught-up`, a feed
    that is named is run by the lake's streams if they run, as it is by its schedule. Each event
    lands in exactly one table exactly once, however often this is stopped or killed. Only one
    process streams into a lake at a time; `lake-assets demo` and Dagster are such too. Ctrl-C lets
    the batch in hand be finished; a second one says what still runs, and a third ends all of it at
    once.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    feeds = load_feeds(settings.feeds)
    named = None if feed is None else find_feed(feeds, feed)
    if _is_for_others(settings, feeds, named, skip=skip_batch, retry=retry_batch):
        tell("stream", {}, as_json=as_json)
        return
    # A service manager stops a process with SIGTERM; it should end as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    events = _events(settings, feeds, named, until_caught_up=until_caught_up)
    said, tally = EventLog(), _Tally()
    with log_lines(settings.log.format), suppress(KeyboardInterrupt), closing(events):
        for event in events:
            said.add(event)
            tally.add(event)
    tell("stream", tally.feeds, as_json=as_json)


class _Tally:
    """What a run did, by feed, for who waits for its end."""

    def __init__(self) -> None:
        self.feeds: dict[str, dict[str, Any]] = {}

    def add(self, event: StreamEvent) -> None:
        """Count what was committed."""
        if not isinstance(event, BatchReport) or not event.is_committed:
            return
        empty = {"batches": 0, "rows": {}, "dropped": 0, "duplicates": 0}
        feed = self.feeds.setdefault(event.feed, empty)
        feed["batches"] += 1
        feed["dropped"] += sum(event.dropped.values())
        feed["duplicates"] += sum(event.duplicates.values())
        for table, rows in event.rows.items():
            feed["rows"][table] = feed["rows"].get(table, 0) + rows


def _events(
    settings: Settings, feeds: Sequence[Feed], named: Feed | None, *, until_caught_up: bool
) -> Generator[StreamEvent, None, None]:
    if named is not None and until_caught_up:
        return run_feed(
            settings, feeds, named, lambda: control.locate(settings, feeds), owner="cli"
        )
    return stream_events(
        settings,
        feeds,
        control.locate(settings, feeds),
        owner="cli",
        until_caught_up=until_caught_up,
        what=None if named is None else ToRun.only([named.feed]),
    )


def _is_for_others(
    settings: Settings,
    feeds: Sequence[Feed],
    named: Feed | None,
    *,
    skip: str | None,
    retry: str | None,
) -> bool:
    """Ask for what is to become of a batch; whether others do it, now or later."""
    asked = [(skip, ask_to_skip, "skipped"), (retry, ask_to_retry, "tried again")]
    left = set()
    for name, ask, what in asked:
        if name is not None:
            ensure_bound(settings)
            feed = find_feed(feeds, name)
            for strikes in ask(settings.state_dir, feed):
                _say(f"{name}: {strikes.batch.words} will be {what}")
            if feed.is_triggered and feed != named:
                left.add(name)
    for name in sorted(left):
        _say(f"{name}: its next run does it; `--feed {name} --until-caught-up` runs it now")
    is_running = (skip or retry) is not None and is_locked(settings.state_dir)
    if is_running and not {skip, retry} - {None} <= left and named is None:
        _say("the streams that run already do it within seconds")
    return bool(left) or (is_running and named is None)


def _say(text: str) -> None:
    stderr.print(text, markup=False, highlight=False, soft_wrap=True)
