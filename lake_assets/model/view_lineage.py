"""Which columns a gold view's columns are made of, told by its SQL before there is a Spark to ask.

sqlglot reads it; what it cannot make out has no entry. The values of a column alone count, not what
chooses or groups rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from lake_assets.model.gold_views import WINDOW_END, WINDOW_START, GoldView
from lake_assets.model.keyed import END, START
from lake_assets.model.queries import SILVER, QuerySource, columns_of, with_names
from lake_assets.model.spark_sql import statements_of

# sqlglot is imported where a query is read: it takes 0.3 s, and Spark's workers import this room.


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadColumn:
    """A column that a view's column is made of."""

    source: QuerySource
    column: str

    def __str__(self) -> str:
        """As a query names it: `silver.ante`."""
        return f"{self.source}.{self.column}"


Lineage: TypeAlias = Mapping[str, tuple[ReadColumn, ...]]
"""By column of a view, what it is made of."""

Columns: TypeAlias = Mapping[QuerySource, Sequence[str]]
"""By what a view reads, the columns of it that are known."""


def lineage_of(view: GoldView, columns: Columns) -> Lineage:
    """What each column of a view is made of, as far as its SQL tells.

    Args:
        view: any.
        columns: of what it reads; without those of silver its keys and measures tell nothing, and
            without those of a table neither `*` does nor a name that may be of two.
    """
    known = tuple((source, tuple(names)) for source, names in sorted(columns.items()))
    if view.sql is not None:
        told = columns_of(view.sql) or [name for _, names in known for name in names]
        written = {name.lower(): name for name in told}
        found = _read(view.sql, view.sources, known)
        return {written.get(name, name): read for name, read in found.items()}
    silver = columns.get(QuerySource(is_of_key=True), ())
    made = _expressions(view, silver) if silver else {}
    select, of = "select", f"as x from {SILVER}"
    queries = {name: f"{select} {sql} {of}" for name, sql in made.items()}
    each = {name: _read(sql, view.sources, known) for name, sql in queries.items()}
    return {name: read["x"] for name, read in each.items() if "x" in read}


def _expressions(view: GoldView, silver: Sequence[str]) -> dict[str, str]:
    """By a view's column, its SQL; each is read by itself, since one may not be made out."""
    if view.keyed is not None:
        own = {name: f"`{name}`" for name in silver if name not in view.keyed.except_columns}
        return own | dict.fromkeys((START, END), view.keyed.order_value)
    own = {}
    if view.windows:
        own = dict.fromkeys((WINDOW_START, WINDOW_END), f"`{view.windows.time}`")
    return {**own, **view.key_expressions, **view.measures}


@lru_cache(maxsize=4096)  # an event of a view's table tells it each time, and it is the same
def _read(
    sql: str,
    sources: tuple[QuerySource, ...],
    columns: tuple[tuple[QuerySource, tuple[str, ...]], ...],
) -> Lineage:
    from sqlglot import exp  # noqa: PLC0415
    from sqlglot.errors import ErrorLevel, SqlglotError  # noqa: PLC0415
    from sqlglot.lineage import lineage  # noqa: PLC0415

    plain = {source: f"_source_{number}" for number, source in enumerate(sources)}
    names = {plain[source]: own for source, own in columns if source in plain}
    # Of which type a column is makes no difference here.
    schema = {table: dict.fromkeys(own, "string") for table, own in names.items() if own}
    try:
        # Whole selects: one cut to its column, for each of its columns, is the square of them.
        (query,) = statements_of(with_names(sql, plain), ErrorLevel.IMMEDIATE)
        if query is None:
            return {}
        made = lineage(None, query, schema, dialect="spark", trim_selects=False)
    except (SqlglotError, ValueError, RecursionError):
        return {}
    by_name = {name: source for source, name in plain.items()}
    found = {}
    for name, node in made.items():
        read = set[ReadColumn]()
        for leaf in node.walk():
            if isinstance(leaf.expression, exp.Table) and leaf.expression.name in by_name:
                table = leaf.expression.name
                read.add(_column(by_name[table], leaf.name, names.get(table, ())))
        found[name] = tuple(sorted(read, key=str))
    return found


def _column(source: QuerySource, name: str, known: Sequence[str]) -> ReadColumn:
    """One that sqlglot names `table.column`, in lower case, as its table has it."""
    from sqlglot import exp  # noqa: PLC0415

    column = exp.to_column(name).name
    written = next((one for one in known if one.lower() == column.lower()), column)
    return ReadColumn(source=source, column=written)
