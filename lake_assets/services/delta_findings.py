"""The doctor's look at Delta tables that feeds read, and at what their indexes have of them."""

from collections.abc import Iterator

from lake_assets.model.delta_source import DeltaSource
from lake_assets.services.finding import Finding, Health
from lake_assets.services.source_findings import look_at_sources
from lake_assets.settings.schema import Settings
from lake_assets.sources.delta.source_table import open_source, reached, records_changes
from lake_assets.storage.store import Store


def look_at_delta_sources(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    return look_at_sources(settings, "Delta table", lambda source: source.delta, _look)


def _look(thing: str, lake: Store, feed: str, source: DeltaSource) -> Iterator[Finding]:
    known = reached(lake, feed)
    table = open_source(source, lake, known)
    version = table.version()
    read = "nothing of it was found yet" if known is None else f"found up to {known.version}"
    fact = f"{source.path}: at version {version}, {read}"
    yield Finding(thing=thing, health=Health.OK, fact=fact)
    if source.read == "changes" and not records_changes(table):
        yield Finding(
            thing=thing,
            health=Health.BROKEN,
            fact=f"{source.path} records no changes of its rows; the first one ends the feed",
            fix="Set its property delta.enableChangeDataFeed to true",
        )
