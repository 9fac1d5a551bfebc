"""`lake-assets streams`: a feed's stream stops deliberately, starts again, and how each is."""

import getpass
import platform
import time
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.table import Table

from lake_assets.cli.answer import ExitCode, Problem, Severity, tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import FeedOption, FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.streams.stop_request import (
    Ended,
    await_stopped,
    feeds_meant,
    start_streams,
    stop_streams,
)
from lake_assets.streams.stream_standing import StreamStanding, StreamState, standing_of

app = typer.Typer(
    no_args_is_help=True,
    help="Stop a feed's stream deliberately, start it again, and show how each one is.",
)


@app.command()
def stop(
    *,
    reason: Annotated[
        str, typer.Option("--reason", help="Why, for whoever sees that it is stopped.")
    ] = "",
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a feed's stream after the batch in hand, until it is started again.

    The stop outlives restarts of everything; the supervisor leaves it alone. Other feeds go on.
    """
    settings, meant = _meant(load_settings(lake=lake, home=home, feeds=feeds_folder), feed)
    stops = stop_streams(settings, meant, by=_who(), reason=reason)
    since = time.monotonic()
    told = {one.feed: await_stopped(settings, one.feed, since=since) for one in meant}
    late = [name for name, ended in told.items() if ended is Ended.NOT_YET]
    tell(
        "streams stop",
        [{"feed": name, **stops[name].model_dump(), "state": told[name]} for name in told],
        [
            Problem(
                what=f"feed {name!r}",
                fact=str(Ended.NOT_YET),
                next_step="See `lake-assets streams status`",
                severity=Severity.WARNING,
            )
            for name in late
        ],
        as_json=as_json,
        show=lambda: _say({name: f"stopped {stops[name]}: {told[name]}" for name in told}),
    )


@app.command()
def start(
    *,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a feed's stream again that was stopped: it goes on where it was."""
    settings, meant = _meant(load_settings(lake=lake, home=home, feeds=feeds_folder), feed)
    stops = start_streams(settings, meant)
    words = {name: f"started; it was stopped {stop}" for name, stop in stops.items()}
    tell(
        "streams start",
        [{"feed": one.feed, "was_stopped": one.feed in stops} for one in meant],
        as_json=as_json,
        show=lambda: _say(
            {one.feed: words.get(one.feed, "nobody has stopped it") for one in meant}
        ),
    )


@app.command()
def status(
    *,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show for each feed whether its stream runs, waits, is blocked, or is stopped, and by whom."""
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    feeds = load_feeds(settings.feeds)
    found = [standing_of(settings, one) for one in (feeds_meant(feeds, feed) if feed else feeds)]
    blocked = [one for one in found if one.state is StreamState.BLOCKED]
    tell(
        "streams status",
        found,
        [
            Problem(
                what=f"feed {one.feed!r}",
                fact=one.detail,
                exit_code=ExitCode.BLOCKED,
                is_told=True,
            )
            for one in blocked
        ],
        as_json=as_json,
        show=lambda: stdout.print(_table(found)),
    )


def _table(found: Sequence[StreamStanding]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("feed", "stream", "detail"):
        table.add_column(title, overflow="fold")
    for one in found:
        table.add_row(one.feed, one.state, one.detail)
    return table


def _meant(settings: Settings, feed: str | None) -> tuple[Settings, tuple[Feed, ...]]:
    return settings, feeds_meant(load_feeds(settings.feeds), feed or "")


def _who() -> str:
    return f"{getpass.getuser()}@{platform.node()}"


def _say(by_feed: Mapping[str, str]) -> None:
    for name, words in by_feed.items():
        stdout.print(f"{name}: {words}", markup=False, highlight=False, soft_wrap=True)
