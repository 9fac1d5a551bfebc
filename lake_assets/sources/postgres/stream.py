"""A table of PostgreSQL as a streaming DataFrame (`sources.landing.stream`)."""

from collections.abc import Mapping
from functools import partial

from pydantic import SecretStr

from lake_assets.model.postgres_source import PostgresSource
from lake_assets.sources.landing.stream import Landing, Reading
from lake_assets.sources.postgres.landed import COLUMNS
from lake_assets.storage.store import Store

_EVERY_S = 10.0
"""Seconds between two passes of a query without an end: each asks the database."""

_READS_FOR_S = 60.0
"""Seconds after which Spark gets a batch, though a pass goes on: the database would hold its
snapshot while Spark works, so the pass goes on in another. Each time costs the database a sort, if
it has no index."""


def reading_of(  # noqa: PLR0913 - what is declared, and what Spark may take at once
    source: PostgresSource,
    lake: Store,
    feed: str,
    secrets: Mapping[str, SecretStr],
    *,
    start: int,
    max_rows: int,
    tasks: int,
) -> Reading:
    """What the reader of a table is told.

    Args:
        source: what is declared.
        lake: where rows land.
        feed: whose they are.
        secrets: by their variables, which Spark's processes need not have.
        start: the first offset.
        max_rows: of a batch.
        tasks: that read at once.
    """
    return Reading(
        feed=feed,
        columns=COLUMNS,
        lake=lake,
        start=start,
        max_rows=max_rows,
        tasks=tasks,
        land=partial(_land, source, lake, feed, secrets),
        every_s=_EVERY_S,
        reads_for_s=_READS_FOR_S,
    )


def _land(
    source: PostgresSource, lake: Store, feed: str, secrets: Mapping[str, SecretStr]
) -> Landing:
    # Not in tasks, which ask no database.
    from lake_assets.sources.postgres.landing import Landing as TableLanding  # noqa: PLC0415

    return TableLanding(source, lake, feed, secrets.__getitem__)
