"""`lake-assets produce`: made-up events into a feed's topic."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, KeysOption
from lake_assets.errors import SettingsError, UsageError
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import is_key_name
from lake_assets.services.control import locate
from lake_assets.settings.load import load_settings
from lake_assets.simulator import produce as simulator
from lake_assets.simulator.of_feed import workload_of
from lake_assets.simulator.script import Script

_DEFAULT_EVENTS = 100_000


def produce(
    *,
    events: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"How many; {_DEFAULT_EVENTS:,} by default, or with --rate until Ctrl-C.",
            show_default=False,
        ),
    ] = None,
    key: KeysOption = None,
    versions: Annotated[
        int, typer.Option(min=1, help="Schema versions, coming up in turn; each adds a column.")
    ] = 3,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Events/s; by default as fast as possible.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same events.")] = 0,
    feed: Annotated[
        str, typer.Option("--feed", help="The feed whose topic and subject to use.")
    ] = "games",
    topic: Annotated[
        str | None,
        typer.Option(
            help="Which of the feed's topics, if it reads several.", show_default="the first"
        ),
    ] = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send made-up events to a feed's Kafka topic.

    The topic is created and schemas are registered as needed. The services must run: start
    them with `lake-assets services up`.
    """
    settings = load_settings(home=home, feeds=feeds_folder)
    declared = find_feed(load_feeds(settings.feeds), feed)
    chosen_keys = _keys(key) if key else declared.keys
    if not chosen_keys:
        raise SettingsError(f"feed {feed!r}", "has no route.keys", "Name some with --key")
    script = Script(
        versions=versions, events=events if events or rate else _DEFAULT_EVENTS, rate=rate
    )
    endpoints = locate(settings, [declared])
    workload = workload_of(declared, endpoints, chosen_keys, seed=seed)
    chosen = _topic(declared, topic)
    with _stopping() as stopped, _bar(script.events) as show:
        report = simulator.produce(
            endpoints,
            chosen,
            workload,
            script,
            on_progress=show,
            stop=stopped.is_set,
        )
    speed = report.events / report.seconds
    words = f"{report.events:,} events to topic {chosen} in {report.seconds:.1f} s ({speed:,.0f}/s)"
    tell(
        "produce",
        {"topic": chosen, **asdict(report)},
        as_json=as_json,
        show=partial(stdout.print, words, highlight=False),
    )


def _topic(feed: Feed, given: str | None) -> str:
    source = feed.source.topics
    if given is None and not source.names:
        raise SettingsError(f"feed {feed.feed!r}", f"reads {source.title}", "Name one by --topic")
    topic = given or source.names[0]
    if not source.reads(topic):
        fact = f"{topic!r} is none of its topics"
        raise SettingsError(f"feed {feed.feed!r}", fact, f"It reads {source.title}")
    return topic


def _keys(given: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(given))
    for name in names:
        if not is_key_name(name):
            fact = f"{name!r} cannot name a table"
            step = "Use 1 to 64 lower-case letters, digits and _; --key may be given again"
            raise UsageError("--key", fact, step)
    return names


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Set by the first Ctrl-C, so that what was sent is still delivered; a second one ends all."""
    stopped = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def stop(_signal: int, _frame: object) -> None:
        stopped.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[simulator.Progress], None]]:
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("events, {task.description}/s"))
    with Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task("0", total=total)

        def show(progress: simulator.Progress) -> None:
            speed = f"{progress.sent / max(progress.seconds, 0.001):,.0f}"
            bar.update(task, completed=progress.sent, description=speed)

        yield show
