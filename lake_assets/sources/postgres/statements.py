"""What is asked of the database: snapshots, how far watermarks are, and rows. Asks nobody itself.

Rows come as JSON that the server makes, so that no type passes through a client's: numbers keep all
their digits, times are ISO 8601, infinities and NaN are text. Columns of bytes are Base64.
"""

from psycopg import sql

from lake_assets.model.postgres_source import PostgresSource
from lake_assets.sources.postgres.tables import SourceTable, named, place_of, plain, spelled

MOST_BYTES = 64 * 1024 * 1024
"""Of a row as JSON; more is no value. As of rows of files."""

SNAPSHOT = """
select pg_snapshot_xmin(s)::text::bigint as xmin, pg_snapshot_xmax(s)::text::bigint as xmax,
       (extract(epoch from now()) * 1000000)::bigint as at_us
from pg_current_snapshot() s
"""

NUMBER = "select pg_current_xact_id()::text::bigint as number"
"""Gives this transaction a number, which writes nothing. What a snapshot calls `xmax` would not do:
transactions from there on may have got theirs long before, if none behind them has ended."""

_EARLIEST, _LATEST = -(2**63), 2**63 - 1
"""What stands for the infinities of times."""

_LAST_TIME = 2**63 - 2**10
"""What stands for dates that are further away than microseconds count; a float has it exactly."""

_FIRST_TIME = -210_866_803_200_000_000
"""The earliest date of PostgreSQL's: a watermark of less is that of all rows."""


def as_number(table: SourceTable, column: sql.Composable) -> sql.Composed:
    """A watermark as a number of 64 bits: itself, or microseconds since 1970."""
    if not table.is_timed:
        return sql.SQL("{}::bigint").format(column)
    return sql.SQL(
        "case when {c} is null then null"
        " when isfinite({c}) then least(round(extract(epoch from {c}) * 1000000), {far})::bigint"
        " when {c} > now() then {last}::bigint else {first}::bigint end"
    ).format(
        c=column,
        far=sql.Literal(_LAST_TIME),
        last=sql.Literal(_LATEST),
        first=sql.Literal(str(_EARLIEST)),
    )


def is_bound(table: SourceTable, low: int | None) -> bool:
    """Whether some rows can be below a watermark, which the database's types can tell then."""
    return low is not None and low >= (_FIRST_TIME if table.is_timed else _EARLIEST)


def newest(source: PostgresSource, table: SourceTable) -> sql.Composed:
    """How far the watermark is: of the rows, and, of numbers, of the sequence that gives them."""
    column = named(source.watermark)
    last: sql.Composable = sql.SQL("null::bigint")
    if not table.is_timed and table.kind == "table":
        last = sql.SQL(
            "(select case when has_sequence_privilege(q, 'select')"
            " then pg_sequence_last_value(q::regclass) end"
            " from pg_get_serial_sequence({table}, {column}) q where q is not null)"
        ).format(
            table=plain(sql.Literal(spelled(source)).as_string()),
            column=plain(sql.Literal(source.watermark).as_string()),
        )
    return sql.SQL("select {last_row} as last_row, {last} as last from {place}").format(
        last_row=as_number(table, sql.SQL("max({})").format(column)),
        last=last,
        place=place_of(source),
    )


def rows_from(
    source: PostgresSource, table: SourceTable, *, has_low: bool, is_resumed: bool
) -> sql.Composed:
    """Rows in the order of watermark and key: both as told apart, as texts, and the row as JSON.

    Args:
        source: what is declared.
        table: as it is.
        has_low: whether only rows from a watermark on are wanted, the parameter `low`.
        is_resumed: whether only rows behind one are, the parameters `after0`, `after1`, ….
    """
    order = [named("t", name) for name in (source.watermark, *source.key)]
    mark = order[0]
    conditions = [sql.SQL("{} is not null").format(mark)]
    if has_low:
        conditions.append(sql.SQL("{} >= {}").format(mark, _low(table)))
    if is_resumed:
        values = [
            sql.SQL("{}::{}").format(sql.Placeholder(f"after{n}"), plain(table.whole_types[name]))
            for n, name in enumerate((source.watermark, *source.key))
        ]
        # Rows without a key are no more than any other, and are to be told of.
        nulls = [sql.SQL("{} is null").format(column) for column in order[1:]]
        behind = sql.SQL("({}) > ({})").format(
            sql.SQL(", ").join(order), sql.SQL(", ").join(values)
        )
        conditions.append(sql.SQL("{} >= {}").format(mark, values[0]))
        conditions.append(sql.SQL("({})").format(sql.SQL(" or ").join([behind, *nulls])))
    return sql.SQL(
        "select {mark} as mark, array[{texts}] as told,"
        " case when octet_length(j.value) <= {most} then j.value end as value"
        " from {place} t cross join lateral"
        " (select row_to_json(r.*)::text as value from (select {columns}) r) j"
        " where {conditions} order by {order}"
    ).format(
        mark=as_number(table, mark),
        texts=sql.SQL(", ").join(sql.SQL("{}::text").format(column) for column in order),
        most=sql.Literal(MOST_BYTES),
        place=place_of(source),
        columns=sql.SQL(", ").join(_column(name, kind) for name, kind in table.types.items()),
        conditions=sql.SQL(" and ").join(conditions),
        order=sql.SQL(", ").join(order),
    )


def _low(table: SourceTable) -> sql.Composable:
    low = sql.SQL("%(low)s::bigint")
    if not table.is_timed:
        return low
    zone = "timestamptz" if table.watermark_type == "timestamp with time zone" else "timestamp"
    return sql.SQL("{} 'epoch' + {} * interval '1 microsecond'").format(sql.SQL(zone), low)


def _column(name: str, kind: str) -> sql.Composed:
    column: sql.Composable = named("t", name)
    if kind == "bytea":
        column = sql.SQL(r"translate(encode({}, 'base64'), E'\n', '')").format(column)
    return sql.SQL("{} as {}").format(column, named(name))
