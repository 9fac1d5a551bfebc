"""What a database says of the table that is read, and whether it can be read as declared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg import sql

from lake_assets.errors import SourceError, SourceNotFoundError
from lake_assets.model.postgres import schema_and_name
from lake_assets.model.postgres_source import PostgresSource

TIMES = ("timestamp with time zone", "timestamp without time zone", "date")
NUMBERS = ("bigint", "integer", "smallint")

_LATE = timedelta(minutes=10)
_LATE_NUMBERS = 10_000
"""Unless declared. Sequences that hand numbers out in blocks (`cache`) need more."""

_OLDEST = 130_000
"""The first release that tells snapshots by 64-bit numbers, as a number of the server's."""

_KINDS = {"r": "table", "p": "table", "v": "view", "m": "materialized view", "f": "foreign table"}

SERVER = """
select current_setting('server_version_num')::int as version,
       (select system_identifier from pg_control_system())::text as system,
       (select oid from pg_database where datname = current_database())::bigint as database,
       current_user as reader, pg_is_in_recovery() as is_replica
"""

FIND = """
select to_regclass(case when %(schema)s::text is null then quote_ident(%(name)s::text)
       else quote_ident(%(schema)s::text) || '.' || quote_ident(%(name)s::text) end)::oid::bigint
"""

TABLE = """
with recursive reads(oid) as (
    select %(table)s::oid
    union
    select n.oid from reads cross join lateral (
        select inhrelid from pg_inherits where inhparent = reads.oid
        union all
        select d.refobjid from pg_rewrite w join pg_depend d on d.objid = w.oid
        where w.ev_class = reads.oid and w.ev_type = '1' and d.classid = 'pg_rewrite'::regclass
            and d.refclassid = 'pg_class'::regclass
    ) n(oid)
)
select relkind::text as kind, row_security_active(oid) as hides_rows,
       has_any_column_privilege(oid, 'select') as is_readable,
       array(select c.relkind::text from pg_class c join reads using (oid)) as reads
from pg_class where oid = %(table)s::oid
"""

COLUMNS = """
select a.attname::text as name, a.attnum::int as number, a.attnotnull as is_needed,
       format_type(k.oid, null) as type, format_type(k.oid, k.typmod) as whole_type,
       has_column_privilege(a.attrelid, a.attnum, 'select') as is_readable,
       exists (
           select from pg_depend d join pg_class s on s.oid = d.objid
           where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
               and d.refobjid = a.attrelid and d.refobjsubid = a.attnum
               and d.deptype in ('a', 'i')
               and case when s.relkind = 'S' then not has_sequence_privilege(s.oid, 'select') end
       ) as hides_sequence
from pg_attribute a cross join lateral (
    with recursive under(oid, typmod) as (
        select a.atttypid, a.atttypmod
        union all
        select t.typbasetype, t.typtypmod from under join pg_type t using (oid)
        where t.typbasetype <> 0
    )
    select under.* from under join pg_type t using (oid) where t.typbasetype = 0
) k
where a.attrelid = %(table)s::oid and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceTable:
    """A table as it is now."""

    database: str
    number: int
    kind: str
    hides_rows: bool
    """Whether policies leave some out for whoever reads."""

    types: Mapping[str, str]
    """By column that may be read, in their order."""

    whole_types: Mapping[str, str]
    """Likewise, with length and digits: a text as `character` alone is its first character."""

    watermark_number: int
    """Which column the watermark is, by the database's own number."""

    has_unmarked: bool
    """Whether rows may have no watermark."""

    hides_sequence: bool
    """Whether a sequence gives the watermark, and its last value may not be read."""

    late: int
    """In the watermark's unit: microseconds or numbers."""

    watermark_type: str

    tells_numbers: bool = True
    """Whether the server that has the rows gives transactions numbers, and tells which ended."""

    @property
    def is_timed(self) -> bool:
        """Whether the watermark is a time."""
        return self.watermark_type in TIMES


def found_table(
    source: PostgresSource,
    server: Mapping[str, Any],
    number: int | None,
    told: Mapping[str, Any] | None,
    columns: Sequence[Mapping[str, Any]],
) -> SourceTable:
    """The table, if it can be read as a feed declares.

    Args:
        source: what is declared.
        server: what `SERVER` gives.
        number: what `FIND` gives.
        told: what `TABLE` gives.
        columns: what `COLUMNS` gives.

    Raises:
        SourceNotFoundError: there is no such table.
        SourceError: it cannot.
    """
    if server["version"] < _OLDEST:
        fact = f"is of PostgreSQL {server['version'] // 10_000}, which is not supported"
        raise SourceError(source.title, fact, "PostgreSQL 13 or later is needed")
    if number is None or told is None:
        raise SourceNotFoundError(source.title, "is not there", "Create it, or correct `table`")
    if told["kind"] not in _KINDS:
        raise SourceError(source.title, "is no table or view", "Correct `table`")
    if not told["is_readable"]:
        fact = f"may not be read by {server['reader']!r}"
        step = f"Run: grant select on {source.table} to {server['reader']}"
        raise SourceError(source.title, fact, step)
    readable = {row["name"]: row for row in columns if row["is_readable"]}
    for name in (source.watermark, *source.key):
        if name not in readable:
            fact = f"has no column {name!r}, or {server['reader']!r} may not read it"
            raise SourceError(source.title, fact, "Correct `watermark` and `key`, or grant it")
    watermark = readable[source.watermark]
    where = _unnumbered(server, told)
    if where and source.late is None:
        fact = f"{where}, so that nothing tells which transactions its rows lack"
        step = "Declare `late`, as long as transactions last at most, or read where they are made"
        raise SourceError(source.title, fact, step)
    return SourceTable(
        database=f"{server['system']}/{server['database']}",
        number=number,
        kind=_KINDS[told["kind"]],
        hides_rows=told["hides_rows"],
        types={name: row["type"] for name, row in readable.items()},
        whole_types={name: row["whole_type"] for name, row in readable.items()},
        watermark_number=watermark["number"],
        has_unmarked=not watermark["is_needed"],
        hides_sequence=watermark["hides_sequence"],
        late=_late(source, watermark["type"]),
        watermark_type=watermark["type"],
        tells_numbers=not where,
    )


def _unnumbered(server: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """Why a snapshot says nothing of the transactions that rows are of; empty if it does."""
    if server["is_replica"]:
        return "is on a replica"
    reads = "is" if told["kind"] in "fm" else "reads"
    if "f" in told["reads"]:
        return f"{reads} a foreign table"
    # It has what was there when it was refreshed.
    return f"{reads} a materialized view" if "m" in told["reads"] else ""


def _late(source: PostgresSource, kind: str) -> int:
    late = source.late
    if kind in TIMES:
        if isinstance(late, int):
            fact = f"has times in {source.watermark!r}, and `late: {late}` is a number"
            raise SourceError(source.title, fact, "Give a duration, such as `late: 10m`")
        day = timedelta(days=1 if kind == "date" else 0)  # which a date leaves out
        return ((late or _LATE) + day) // timedelta(microseconds=1)
    if kind not in NUMBERS:
        fact = f"has a watermark {source.watermark!r} of type {kind}"
        raise SourceError(source.title, fact, f"Use a column of {', '.join((*TIMES, *NUMBERS))}")
    if isinstance(late, timedelta):
        fact = f"has integers in {source.watermark!r}, and `late` is a duration"
        raise SourceError(source.title, fact, "Give a number, such as `late: 10000`")
    return _LATE_NUMBERS if late is None else late


def named(*names: str) -> sql.SQL:
    """A name as SQL has it, in a statement with parameters."""
    return plain(sql.Identifier(*names).as_string())


def place_of(source: PostgresSource) -> sql.SQL:
    """The table's name likewise."""
    return plain(spelled(source))


def spelled(source: PostgresSource) -> str:
    """The table's name as PostgreSQL's functions take it as a text."""
    schema, name = schema_and_name(source.table)
    return sql.Identifier(*([schema] if schema else []), name).as_string()


def plain(text: str) -> sql.SQL:
    """A part of a statement as it stands: psycopg takes a % in it for a parameter's."""
    return sql.SQL(text.replace("%", "%%"))
