"""Whether a table is the one that was read before, and no older state of it. Pure."""

from lake_assets.errors import SourceError
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.sources.postgres.position import Position, Snapshot
from lake_assets.sources.postgres.tables import SourceTable

_STEP = "Give it a feed of its own, or read it anew by `lake-assets rebuild bronze`"


def ensure_same(
    source: PostgresSource, known: Position | None, table: SourceTable, seen: Snapshot
) -> None:
    """Refuse another table, and one that is behind what was read.

    Raises:
        SourceError: it is.
    """
    if known is None:
        return
    if table.database != known.database:
        fact = f"is in another database ({table.database}) than was read so far ({known.database})"
        raise SourceError(source.title, fact, _STEP)
    if table.number != known.table:
        fact = f"is another table (oid {table.number}) than was read so far ({known.table})"
        raise SourceError(source.title, fact, _STEP)
    if known.by != read_by(source):
        was, now = (", ".join(names) for names in (known.by, read_by(source)))
        fact = f"was read by {was} so far, and {now} is declared"
        raise SourceError(source.title, fact, f"Put `watermark` and `key` back. {_STEP}")
    if known.is_timed not in {None, table.is_timed}:
        was, now = ("a time" if timed else "a number" for timed in (known.is_timed, table.is_timed))
        fact = f"has {now} in {source.watermark!r}, which was {was} when it was read so far"
        raise SourceError(source.title, fact, _STEP)
    if seen.xmax < known.xmax:
        fact = (
            f"is behind what was read: the database is at transaction {seen.xmax}, and was at "
            f"{known.xmax}. An older backup was restored, or a replica lags"
        )
        raise SourceError(source.title, fact, f"Wait for the replica; else: {_STEP}")
    if seen.reached is not None and known.low is not None and seen.reached < known.low:
        fact = (
            f"has come to {seen.reached} in {source.watermark!r}, and was read from {known.low} on "
            "already: numbers are given anew, or the last rows were deleted"
        )
        raise SourceError(source.title, fact, _STEP)


def read_by(source: PostgresSource) -> tuple[str, ...]:
    """Columns that a table is read by: the watermark, and the key."""
    return (source.watermark, *source.key)
