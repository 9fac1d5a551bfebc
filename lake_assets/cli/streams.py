"""`lake-assets streams`: a feed's stream stops deliberately, starts again, and how each is."""

import getpass
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from lake_assets.cli.console import stdout
from lake_assets.cli.shared import JsonOption, LakeOption
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.streams.stop_request import (
    await_stopped,
    feeds_meant,
    start_streams,
    stop_streams,
)
from lake_assets.streams.stream_standing import StreamStanding, standing_of

app = typer.Typer(
    no_args_is_help=True,
    help="Stop a feed's stream deliberately, start it again, and show how each one is.",
)

FeedArgument = Annotated[
    str, typer.Argument(help="Name of the feed; without it all that the streams run.")
]


@app.command()
def stop(
    feed: FeedArgument = "",
    *,
    reason: Annotated[
        str, typer.Option("--reason", help="Why, for whoever sees that it is stopped.")
    ] = "",
    lake: LakeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a feed's stream after the batch in hand, until it is started again.

    The stop outlives restarts of everything; the supervisor leaves it alone. Other feeds go on.
    """
    settings, meant = _meant(lake, feed)
    stops = stop_streams(settings, meant, by=_who(), reason=reason)
    told = {one.feed: await_stopped(settings, one.feed) for one in meant}
    if as_json:
        print(
            json.dumps({name: {**stops[name].model_dump(), "state": told[name]} for name in told})
        )
        return
    for name, ended in told.items():
        _say(f"{name}: stopped {stops[name]}: {ended}")


@app.command()
def start(feed: FeedArgument = "", *, lake: LakeOption = None, as_json: JsonOption = False) -> None:
    """Start a feed's stream again that was stopped: it goes on where it was."""
    settings, meant = _meant(lake, feed)
    stops = start_streams(settings, meant)
    if as_json:
        print(json.dumps({one.feed: {"was_stopped": one.feed in stops} for one in meant}))
        return
    for one in meant:
        is_started = one.feed in stops
        _say(f"{one.feed}: {f'started; it was stopped {stops[one.feed]}' if is_started else _NOT}")


_NOT = "nobody has stopped it"


@app.command()
def status(
    feed: FeedArgument = "", *, lake: LakeOption = None, as_json: JsonOption = False
) -> None:
    """Show for each feed whether its stream runs, waits, failed, or is stopped, and by whom."""
    settings = load_settings(lake=lake)
    feeds = load_feeds(settings.feeds)
    found = [standing_of(settings, one) for one in (feeds_meant(feeds, feed) if feed else feeds)]
    if as_json:
        print(json.dumps([asdict(one) for one in found]))
        return
    stdout.print(_table(found))


def _table(found: Sequence[StreamStanding]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("feed", "stream", "detail"):
        table.add_column(title, overflow="fold")
    for one in found:
        table.add_row(one.feed, one.state, one.detail)
    return table


def _meant(lake: LakeOption, feed: str) -> tuple[Settings, tuple[Feed, ...]]:
    settings = load_settings(lake=lake)
    return settings, feeds_meant(load_feeds(settings.feeds), feed)


def _who() -> str:
    return f"{getpass.getuser()}@{platform.node()}"


def _say(text: str) -> None:
    stdout.print(text, markup=False, highlight=False, soft_wrap=True)
