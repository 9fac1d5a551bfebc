"""Whether a table can be read as declared, and what about it costs time or hides rows."""

from collections.abc import Iterator
from typing import NamedTuple

from psycopg import sql

from lake_assets.model.postgres_source import PostgresSource
from lake_assets.sources.landing.table import end_of, handle_of, position_in
from lake_assets.sources.postgres.database import Database, reading
from lake_assets.sources.postgres.position import Position
from lake_assets.sources.postgres.same_table import ensure_same
from lake_assets.sources.postgres.tables import SourceTable, named, place_of
from lake_assets.storage.store import Store

_INDEX = """
select exists (
    select from pg_index
    where indrelid = %(table)s::oid and indkey[0] = %(column)s and indisvalid and indpred is null
) as is_there
"""


class Reached(NamedTuple):
    """What a look at a table found."""

    landed: int
    """Rows that were read so far."""

    weak: tuple[str, ...]
    """What is not as it should be, in words."""


def look_at(source: PostgresSource, lake: Store, feed: str, *, within_s: float) -> Reached:
    """Connect, and look at the table; writes nothing.

    Args:
        source: what is declared.
        lake: where its rows land.
        feed: whose they are.
        within_s: for connecting, and for each answer.

    Raises:
        SettingsError: a secret is not there.
        SourceError: the database does not answer, refuses us, or is not as it was.
        LakeError: the lake cannot be read.
    """
    handle = handle_of(lake, feed)
    known = position_in(lake, handle, feed, Position.of)
    with reading(source, within_s=within_s) as database:
        table = database.table()
        ensure_same(source, known, table, database.snapshot(table))
        weak = tuple(_weak(source, database, table))
    return Reached(landed=0 if handle is None else end_of(handle, feed), weak=weak)


def _weak(source: PostgresSource, database: Database, table: SourceTable) -> Iterator[str]:
    column = source.watermark
    if table.hides_rows:
        yield "policies of row security may hide rows"
    if not table.tells_numbers:
        yield "rows of transactions that last longer than `late` are missed there"
    if table.hides_sequence:
        yield f"a number far ahead in {column} hides rows, since its sequence may not be read"
    is_indexed = table.kind != "view"
    if table.kind in {"table", "materialized view"}:
        (found,) = database.ask(_INDEX, table=table.number, column=table.watermark_number)
        is_indexed = found["is_there"]
        if not is_indexed:
            yield f"each look reads all of it, since no index begins with {column}"
    if table.has_unmarked and is_indexed:
        statement = sql.SQL("select exists (select from {} where {} is null) as is_there")
        (found,) = database.ask(statement.format(place_of(source), named(column)))
        if found["is_there"]:
            yield f"rows without {column} are not read, and there are some"
