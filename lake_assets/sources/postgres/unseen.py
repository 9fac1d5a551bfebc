"""Whether a table has rows that did not land yet: what a tick asks before it starts Spark."""

from lake_assets.model.postgres_source import PostgresSource
from lake_assets.sources.landing.table import handle_of, position_in
from lake_assets.sources.postgres.database import reading
from lake_assets.sources.postgres.landed import known_among
from lake_assets.sources.postgres.new_rows import new_rows
from lake_assets.sources.postgres.position import Position, at_clock
from lake_assets.sources.postgres.same_table import ensure_same
from lake_assets.storage.store import Store


def has_new_rows(source: PostgresSource, lake: Store, feed: str) -> bool:
    """Whether a pass would land rows, or tell from where on the next has to look.

    Raises:
        SourceError: the database does not answer, refuses us, or is not as it was.
        LakeError: the lake cannot be read.
    """
    handle = handle_of(lake, feed)
    position = position_in(lake, handle, feed, Position.of)
    if handle is None or position is None or position.begun is not None:
        return True
    with reading(source) as database:
        table = database.table()
        seen = database.snapshot(table)
        ensure_same(source, position, table, seen)
        position = at_clock(position, seen, table.late)
        if position.low is None and seen.mark is not None:
            return True  # else each look reads all rows
        for found in database.rows(table, position.low, ()):
            keys = [row.key for row in new_rows(found, {})]
            known = known_among(lake, handle, feed, keys, found[0].mark, found[-1].mark)
            if new_rows(found, known):
                return True
    return False
