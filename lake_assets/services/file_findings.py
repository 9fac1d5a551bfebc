"""The doctor's look at folders that feeds read files of, and at what their indexes have of them."""

from collections.abc import Iterator

from lake_assets.model.files_source import FilesSource
from lake_assets.services.finding import Finding, Health
from lake_assets.services.source_findings import ANSWER_S, look_at_sources
from lake_assets.settings.schema import Settings
from lake_assets.sources.files.index import BAD, FOUND, changes_in, counted_files
from lake_assets.sources.files.open_place import open_place
from lake_assets.storage.store import Store

_NAMED = 3
"""Files that are named; the table has all."""


def look_at_files(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    return look_at_sources(settings, "files", lambda source: source.files, _look)


def _look(thing: str, lake: Store, feed: str, source: FilesSource) -> Iterator[Finding]:
    open_place(source).ensure(timeout_s=ANSWER_S)
    counted = counted_files(lake, feed)
    changes = changes_in(lake, feed)
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
