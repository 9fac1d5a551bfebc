"""What several commands share: the options' types, which feed is meant, and when to end."""

import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from lake_assets.cli.answer import Problem, complain
from lake_assets.delta.catalog import keys_found
from lake_assets.errors import FeedError, LakeAssetsError, ServiceError, UsageError
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.services import control
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of


def folder(text: str) -> Path:
    """A folder or a bucket that an option names; an empty text would mean where one stands.

    Raises:
        BadParameter: it is empty, as a variable of a shell that is not set.
    """
    if not text.strip():
        message = "is empty: name a folder, or leave the option out"
        raise typer.BadParameter(message)
    return Path(text)


LakeOption = Annotated[
    Path | None,
    typer.Option(
        "--lake",
        parser=folder,
        metavar="<path>",
        help="Folder or bucket of the tables.",
        show_default="LAKE_ASSETS_LAKE, or <home>/lake",
    ),
]
HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        parser=folder,
        metavar="<path>",
        help="Folder of the embedded services, and of the tables and their state unless they are "
        "elsewhere.",
        show_default="LAKE_ASSETS_HOME",
    ),
]
FeedsOption = Annotated[
    Path | None,
    typer.Option(
        "--feeds",
        parser=folder,
        metavar="<path>",
        help="Folder of the feeds' files.",
        show_default="LAKE_ASSETS_FEEDS",
    ),
]
KeysOption = Annotated[
    list[str] | None,
    typer.Option("--key", help="Only this key; may be given again.", show_default="all keys"),
]
FeedOption = Annotated[
    str | None, typer.Option("--feed", help="Only this feed.", show_default="all feeds")
]
SinkOption = Annotated[
    str | None, typer.Option("--sink", help="Only this sink.", show_default="all sinks")
]
OneFeedOption = Annotated[
    str | None, typer.Option("--feed", help="Which feed, if there are several.", show_default=False)
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Answer as one JSON object, on the last line of standard output."),
]


def pick_feed(settings: Settings, name: str | None) -> Feed:
    """The feed of that name, or the only one.

    Raises:
        FeedError: there is no such feed.
        UsageError: there are several, and none is named.
    """
    feeds = load_feeds(settings.feeds)
    if name is not None:
        return find_feed(feeds, name)
    if len(feeds) > 1:
        names = ", ".join(feed.feed for feed in feeds)
        raise UsageError("--feed", f"there are several feeds ({names})", "Name one of them")
    return feeds[0]


def pick_feeds(
    settings: Settings,
    name: str | None,
    *,
    view: str | None = None,
    keys: Sequence[str] | None = None,
) -> tuple[Feed, ...]:
    """The feed of that name, or all; of several, those that have what else is named.

    If none has it, all come back, and each says what it has instead.

    Raises:
        FeedError: there is no such feed.
    """
    feeds = tuple(load_feeds(settings.feeds))
    if name is not None:
        return (find_feed(feeds, name),)
    having = [
        feed
        for feed in feeds
        if (view is None or view in {gold_view.name for gold_view in feed.gold})
        and set(keys or ()) <= set(keys_found(lake_of(settings), feed))
    ]
    return tuple(having) or feeds


def with_silver(feeds: Sequence[Feed]) -> Sequence[Feed]:
    """Those of some feeds that have silver tables; if none has, all, and each says so."""
    return [feed for feed in feeds if feed.has_silver] or feeds


def for_each(feeds: Sequence[Feed], act: Callable[[Feed], object]) -> list[Problem]:
    """Do something for each feed; what fails for one is told at once, and the others go on.

    Returns:
        What failed.

    Raises:
        LakeAssetsError: it failed for the only feed there is.
    """
    failed = []
    for feed in feeds:
        try:
            act(feed)
        except LakeAssetsError as problem:
            if len(feeds) == 1:
                raise
            failed.append(Problem.of(problem, is_told=True))
            complain(failed[-1])
    return failed


def pick_feed_of_source(settings: Settings, name: str) -> Feed:
    """The feed that reads a source of that name, such as a topic.

    Raises:
        FeedError: no feed reads it, or several do.
    """
    feeds = load_feeds(settings.feeds)
    readers = [feed for feed in feeds if feed.source.declared.reads(name)]
    if not readers:
        names = ", ".join(sorted({feed.source.declared.label for feed in feeds}))
        raise FeedError(f"source {name!r}", "is read by no feed", f"Use one of: {names}")
    if len(readers) > 1:
        names = ", ".join(feed.feed for feed in readers)
        raise FeedError(f"source {name!r}", f"is read by several feeds ({names})", "Name --feed")
    return readers[0]


def endpoints_if_any(settings: Settings) -> Endpoints | None:
    """Broker and, if a feed needs one, registry; None where none runs."""
    try:
        return control.locate(settings, load_feeds(settings.feeds))
    except ServiceError:
        return None


def endpoints_of_registry(settings: Settings, feeds: Sequence[Feed]) -> Endpoints | None:
    """Where the registry answers that some feeds need, whether a broker does or not."""
    if settings.registry.url:
        access = settings.registry.access
        return Endpoints(kafka="", registry=settings.registry.url, registry_access=access)
    try:
        return control.locate(settings, feeds)
    except ServiceError:
        return None


def told_to_stop() -> threading.Event:
    """Set once this process is told to end, which it then does by itself."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop
