"""The doctor's look at tables of PostgreSQL that feeds read."""

from collections.abc import Iterator

from lake_assets.model.postgres_source import PostgresSource
from lake_assets.services.finding import Finding, Health
from lake_assets.services.source_findings import ANSWER_S, look_at_sources
from lake_assets.settings.schema import Settings
from lake_assets.sources.postgres.reach import look_at
from lake_assets.storage.store import Store


def look_at_postgres_sources(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    return look_at_sources(settings, "PostgreSQL", lambda source: source.postgres, _look)


def _look(thing: str, lake: Store, feed: str, source: PostgresSource) -> Iterator[Finding]:
    found = look_at(source, lake, feed, within_s=ANSWER_S)
    fact = f"{source.title} can be read, {found.landed:,} rows were"
    yield Finding(thing=thing, health=Health.OK, fact="; but ".join([fact, *found.weak]))
