"""The doctor's look at folders that feeds read files of, and at what their indexes have of them."""

from collections.abc import Iterator

from deltalake.exceptions import DeltaError

from lake_assets.errors import FeedError, LakeError, SourceError, SourceNotFoundError, first_line
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.services.finding import Finding, Health
from lake_assets.settings.schema import Settings
from lake_assets.sources.files.index import BAD, FOUND, changes_in, counted_files
from lake_assets.sources.files.listing import ensure_folder
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store

_NAMED = 3
"""Files that are named; the table has all."""


def look_at_files(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    try:
        feeds = load_feeds(settings.feeds)
    except FeedError:
        return
    for feed in feeds:
        if feed.source.files is not None:
            yield from _of_feed(lake_of(settings), feed, feed.source.files)


def _of_feed(lake: Store, feed: Feed, source: FilesSource) -> Iterator[Finding]:
    thing = f"files of feed {feed.feed!r}"
    try:
        ensure_folder(source)
        counted = counted_files(lake, feed.feed)
        changes = changes_in(lake, feed.feed)
    except SourceError as problem:
        health = Health.LATER if isinstance(problem, SourceNotFoundError) else Health.BROKEN
        fact = f"{problem.thing} {problem.fact}"
        yield Finding(thing=thing, health=health, fact=fact, fix=problem.next_step)
        return
    except (LakeError, DeltaError) as problem:
        fix = "Check the lake's folder and its disk"
        yield Finding(thing=thing, health=Health.BROKEN, fact=first_line(problem), fix=fix)
        return
    bad = counted[BAD]
    fact = f"{source.label}: {counted[FOUND]:,} found"
    fact += f", {bad:,} of them could not be read and are in quarantine" if bad else ""
    yield Finding(thing=thing, health=Health.OK, fact=fact)
    if changes:
        newest = sorted(changes, key=lambda change: change.noticed_at, reverse=True)[:_NAMED]
        named = ", ".join(f"{change.file.name} ({change.state})" for change in newest)
        more = f", and {len(changes) - len(newest):,} more" if len(changes) > len(newest) else ""
        yield Finding(
            thing=thing,
            health=Health.LATER,
            fact=f"changed since they were found, and are not read again: {named}{more}",
            fix="Put what is new into the folder under another name",
        )
