"""The SQL of free gold views: what it reads and gives, told before there is a Spark to ask.

Spark has the last word on a query; what is refused here is what no refresh could make sense of.
"""

from functools import cache
from typing import TYPE_CHECKING

from lake_assets.errors import first_line

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

# sqlglot is imported where a query is read: it takes 0.3 s, and Spark's workers import this module.

SILVER = "silver"
"""What a view with one table a key calls the key's silver table."""

SILVER_ALL = "silver_all"
"""What a view over all keys calls the rows of all silver tables."""

_NAMES = f"{SILVER} (one key's events) or {SILVER_ALL} (those of all keys)"


@cache
def reads_all(sql: str) -> bool:
    """Whether a query is over all keys, rather than over one at a time.

    Raises:
        ValueError: it is no single query, or reads neither, both or anything else.
    """
    tables = _tables(_query(sql))
    others = sorted(tables - {SILVER, SILVER_ALL})
    if others:
        message = f"reads {', '.join(others)}; a view reads {_NAMES} and nothing else"
        raise ValueError(message)
    if not tables:
        message = f"reads no table; a view reads {_NAMES}"
        raise ValueError(message)
    if len(tables) > 1:
        message = f"reads both {SILVER} and {SILVER_ALL}: it is over one key or over all of them"
        raise ValueError(message)
    return SILVER_ALL in tables


@cache
def columns_of(sql: str) -> tuple[str, ...] | None:
    """The names of a query's columns; None where only Spark can tell, as after `select *`."""
    query = _query(sql)
    names = tuple(query.named_selects)
    is_told = len(names) == len(query.selects) and not {"", "*"} & set(names)
    return names if is_told else None


def _query(sql: str) -> "exp.Query":
    from sqlglot import exp, parse  # noqa: PLC0415
    from sqlglot.errors import ErrorLevel, SqlglotError  # noqa: PLC0415

    try:
        statements = parse(sql, read="spark", error_level=ErrorLevel.IMMEDIATE)
    except SqlglotError as problem:
        message = f"does not parse ({_complaint(problem)})"
        raise ValueError(message) from problem
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        message = "is no query: write one `select … from silver`"
        raise ValueError(message)
    return statements[0]


def _tables(query: "exp.Query") -> set[str]:
    """Tables that a query reads, in lower case as Spark compares them.

    What it names itself (`with x as …`) and functions that give rows (`range(10)`) are none.
    """
    from sqlglot import exp  # noqa: PLC0415
    from sqlglot.optimizer.scope import traverse_scope  # noqa: PLC0415

    tables = (
        source
        for scope in traverse_scope(query)
        for source in scope.sources.values()
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier)
    )
    return {".".join(part.name for part in table.parts).lower() for table in tables}


def _complaint(problem: "SqlglotError") -> str:
    """What was expected and where; the excerpt that follows is coloured for terminals."""
    errors = getattr(problem, "errors", None)
    if not errors:
        return first_line(problem)
    first = errors[0]
    return f"{first['description'].rstrip('.')}, line {first['line']}, column {first['col']}"
