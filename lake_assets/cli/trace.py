"""`lake-assets trace`: where one row of a source is now."""

from typing import Annotated

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedsOption,
    HomeOption,
    JsonOption,
    LakeOption,
    OneFeedOption,
    endpoints_if_any,
    pick_feed,
    pick_feed_of_source,
)
from lake_assets.errors import SourceError
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import LISTING
from lake_assets.model.origins import Origin
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.sources.files.index import entry_of
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.trace import trace as find
from lake_assets.streams.whereabouts import Place, Trace

_LAST_PARTITION = 2**31 - 1
_LAST_OFFSET = 2**63 - 1


def trace(
    *,
    origin: Annotated[
        str | None,
        typer.Argument(help="The message, as `topic/partition/offset`.", show_default=False),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            help="Its topic, or what its source is called otherwise.",
            show_default="the feed's, if it has one",
        ),
    ] = None,
    partition: Annotated[
        int | None,
        typer.Option(min=0, max=_LAST_PARTITION, help="Its partition.", show_default=False),
    ] = None,
    offset: Annotated[
        int | None,
        typer.Option(min=0, max=_LAST_OFFSET, help="Its offset there.", show_default=False),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            help="Of a feed that reads files, in place of an origin: a file, as `_file` has it.",
            show_default=False,
        ),
    ] = None,
    line: Annotated[int, typer.Option(min=1, help="Of the file, as `_row` has it.")] = 1,
    feed: OneFeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say where a message is now: bronze's file, then silver's table, or quarantine and the reason.

    Of one that was left out as a duplicate, it says of which message it is one.

    Reads the tables' logs and the few files that may have it; Spark is not started.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    if file is not None:
        if origin or topic or partition is not None or offset is not None:
            raise typer.BadParameter("name the row once, by its file or by its origin")
        chosen = pick_feed(settings, feed)
        given = _in_file(lake_of(settings), chosen, file, line)
    else:
        given, chosen = _named(settings, feed, origin, topic, (partition, offset))
    traced = find(settings, chosen, given, endpoints_if_any(settings))
    store = lake_of(settings)
    tell("trace", _as_json(traced, store), as_json=as_json, show=lambda: _show(traced, store))


def _show(traced: Trace, store: Store) -> None:
    stdout.print(f"{traced.origin}: {traced.words}", markup=False, highlight=False, soft_wrap=True)
    for place in traced.places:
        words = f"  {_in_words(place, store)}"
        stdout.print(words, markup=False, highlight=False, soft_wrap=True)


def _named(
    settings: Settings,
    feed: str | None,
    origin: str | None,
    topic: str | None,
    place: tuple[int | None, int | None],
) -> tuple[Origin, Feed]:
    """The row that is meant by its origin, or by the parts of it, and the feed that reads it."""
    partition, offset = place
    given = _parse(origin) if origin is not None else None
    named = given.name if given else topic
    chosen = (
        pick_feed(settings, feed)
        if feed is not None or named is None
        else pick_feed_of_source(settings, named)
    )
    if given is None:
        if partition is None or offset is None:
            raise typer.BadParameter("name the message by --partition and --offset")
        declared = chosen.source.declared
        if named is None and not declared.is_one:
            raise typer.BadParameter(
                f"feed {chosen.feed} reads {declared.title}: name one by --topic"
            )
        given = Origin(named or declared.names[0], partition, offset)
    elif not (topic is None and partition is None and offset is None):
        raise typer.BadParameter("name the message once, by its origin or by options")
    return given, chosen


def _in_file(lake: Store, feed: Feed, file: str, line: int) -> Origin:
    """The row of a line.

    Raises:
        SourceError: the feed found no such file, or it has no such line.
    """
    if feed.source.files is None:
        raise SourceError(f"feed {feed.feed!r}", "reads no files", "Name the message by its origin")
    entry = entry_of(lake, feed.feed, file)
    if entry is None:
        fact = "is none that the streams have found"
        raise SourceError(f"file {file!r}", fact, f"Names are below {feed.source.files.path}")
    if line > entry.lines:
        fact = f"had {entry.lines} lines or elements when it was found"
        raise SourceError(f"file {file!r}", fact, "Name one of them")
    return Origin(LISTING, 0, entry.first + line - 1)


def _parse(text: str) -> Origin:
    topic, _, rest = text.partition("/")
    partition, _, offset = rest.partition("/")
    are_numbers = partition.isdecimal() and offset.isdecimal()
    if topic and are_numbers and int(partition) <= _LAST_PARTITION and int(offset) <= _LAST_OFFSET:
        return Origin(topic, int(partition), int(offset))
    raise SourceError(f"{text!r}", "names no message", "Write topic/partition/offset")


def _in_words(place: Place, lake: Store) -> str:
    version = f"version {place.version}" if place.is_exact else f"version {place.version} or older"
    at = f", {place.at:%Y-%m-%d %H:%M:%S} UTC" if place.at else ""
    many = f", {place.rows:,} rows" if place.rows > 1 else ""
    return f"{place.table.name}: {_file(place, lake)} ({version}{at}{many})"


def _file(place: Place, lake: Store) -> str:
    """Below the lake; or whole, of a table whose files are elsewhere."""
    try:
        return place.file.relative_to(lake.root)
    except ValueError:
        return str(place.file)


def _as_json(found: Trace, lake: Store) -> dict[str, object]:
    return {
        "feed": found.feed,
        "topic": found.origin.name,
        "partition": found.origin.partition,
        "offset": found.origin.offset,
        "whereabouts": found.whereabouts.value,
        "words": found.words,
        "places": [
            {
                "table": place.table.name,
                "layer": place.table.layer.value,
                "key": place.key,
                "file": _file(place, lake),
                "rows": place.rows,
                "version": place.version,
                "version_is_exact": place.is_exact,
                "reason": place.reason,
                "detail": place.detail,
                "at": place.at.isoformat() if place.at else None,
            }
            for place in found.places
        ],
    }
