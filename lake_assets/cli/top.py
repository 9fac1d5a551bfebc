"""`lake-assets top`: a live page of the streams of a lake."""

import time
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.cli.top_page import page
from lake_assets.errors import ServiceError
from lake_assets.feeds.load import load_feeds
from lake_assets.maintenance.activity import Activity, activity_of
from lake_assets.metrics.client import Answer, ask, metrics_address
from lake_assets.metrics.snapshot import Snapshot, is_same_process, snapshot_of
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.state.stream_stops import stops_of

_PIPED_WIDTH = 120
"""Columns of the page where no terminal says how many there are."""


def top(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Print the page once and end, after two looks.")
    ] = False,
    every_s: Annotated[
        float, typer.Option("--every", min=0.2, help="Seconds between two looks.")
    ] = 2.0,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            help="Where the streams serve their metrics.",
            show_default="as their heartbeat says",
        ),
    ] = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch the streams of this lake live: rows, lag, batches, views, memory, disk.

    Asks the process that runs them, wherever it was started; starts nothing. Rates are those
    between two looks. Without a terminal, and with --json, it prints once. Ctrl-C ends it.
    """
    watcher = _Watcher(load_settings(lake=lake, home=home, feeds=feeds_folder), url)
    if as_json or once or not stdout.is_terminal:
        watcher.look()
        time.sleep(every_s)
        found, maintenance = watcher.look(), watcher.maintenance()
        width = None if stdout.is_terminal else _PIPED_WIDTH
        shown = page(found, maintenance, watcher.about, watcher.stops())
        tell(
            "top",
            _as_json(found, maintenance, watcher.stops()),
            as_json=as_json,
            show=partial(stdout.print, shown, width=width, soft_wrap=False),
        )
        return
    try:
        _live(watcher, every_s)
    except KeyboardInterrupt:
        stderr.print("the streams go on")


def _live(watcher: "_Watcher", every_s: float) -> None:
    with Live(Text("looking …"), console=stdout, screen=True, auto_refresh=False) as live:
        while True:
            try:
                shown = page(watcher.look(), watcher.maintenance(), watcher.about, watcher.stops())
            except ServiceError as problem:
                watcher.forget()
                told = Text(str(problem), style="yellow")
                shown = Group(told, Text("\nstill looking; Ctrl-C ends"))
            live.update(shown, refresh=True)
            time.sleep(every_s)


class _Watcher:
    """Asks again and again, and remembers the last answer."""

    def __init__(self, settings: Settings, url: str | None) -> None:
        self._settings = settings
        self._url = url
        self._feeds = [feed.feed for feed in load_feeds(settings.feeds)]
        self._last: Answer | None = None
        self.about = str(settings.lake_root)

    def look(self) -> Snapshot:
        """Ask the streams.

        Raises:
            ServiceError: none answer.
        """
        address = self._url or metrics_address(self._settings)
        self.about = f"{self._settings.lake_root} at {address}"
        now = ask(address)
        before, self._last = self._last, now
        if before is None or not is_same_process(before.scrape, now.scrape):
            before = now
        return snapshot_of(before.scrape, now.scrape, time.time(), now.problems)

    def forget(self) -> None:
        """Begin anew: who answers next is another process."""
        self._last = None

    def stops(self) -> dict[str, str]:
        """By feed whose stream somebody stopped, who, in words."""
        found = stops_of(self._settings.state_dir, self._feeds)
        return {feed: str(stop) for feed, stop in found.items()}

    def maintenance(self) -> dict[str, Activity]:
        """By feed, how its maintenance is."""
        return {feed: activity_of(self._settings.state_dir, feed) for feed in self._feeds}


def _as_json(
    found: Snapshot, maintenance: dict[str, Activity], stops: dict[str, str]
) -> dict[str, object]:
    return {
        **asdict(found),
        "stopped": stops,
        "maintenance": {
            feed: {
                "is_running": activity.is_running,
                "last_ended_at": activity.last_ended_at and activity.last_ended_at.isoformat(),
            }
            for feed, activity in maintenance.items()
        },
    }
