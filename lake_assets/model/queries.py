"""The SQL of free gold views: what it reads and gives, told before there is a Spark to ask.

Spark has the last word on a query; what is refused here is what no refresh could make sense of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lake_assets.errors import first_line
from lake_assets.model.spark_sql import statements_of
from lake_assets.model.sql_words import complaint_of

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

# sqlglot is imported where a query is read: it takes 0.3 s, and Spark's workers import this module.

SILVER = "silver"
"""What a view with one table a key calls the key's silver table."""

SILVER_ALL = "silver_all"
"""What a view over all keys calls the rows of all silver tables."""

GOLD, GOLD_ALL = "gold", "gold_all"
"""Likewise, before a view's name: the key's table of another view, and those of all keys."""

EXTERNAL = "external"
"""Before the name of a table outside the lake, as the view's feed declares it."""

_NAMES = (
    f"{SILVER} or {GOLD}.<view> (one key's), {SILVER_ALL} or {GOLD_ALL}.<view> (those of all "
    f"keys), <feed>.{SILVER} or <feed>.{GOLD}.<view> (all of another feed's), {EXTERNAL}.<table>"
)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class QuerySource:
    """What one of a query's tables stands for."""

    feed: str = ""
    """Another feed, whose rows are read of all keys; empty of the view's own."""

    view: str = ""
    """Of that feed; empty of its silver."""

    is_of_key: bool = False
    """Whether it is the key's table that the view's own table is of."""

    external: str = ""
    """A table outside the lake, by its name in the view's feed; the rest is empty then."""

    @property
    def is_plain(self) -> bool:
        """Whether it is silver of the view's own feed."""
        return not self.feed and not self.view and not self.external

    def __str__(self) -> str:
        """As a query names it."""
        if self.external:
            return f"{EXTERNAL}.{self.external}"
        if self.feed:
            return ".".join([self.feed, *([GOLD, self.view] if self.view else [SILVER])])
        layer = GOLD if self.view else SILVER
        layer = layer if self.is_of_key else f"{layer}_all"
        return ".".join([layer, *([self.view] if self.view else [])])


@cache
def sources_of(sql: str) -> tuple[QuerySource, ...]:
    """What a query reads, sorted.

    Raises:
        ValueError: it is no single query, reads nothing, anything else, or one key's rows beside
            silver of all keys.
    """
    names = {name for name, _ in _tables(_query(sql))}
    found = {name: _source(name) for name in names}
    others = sorted(".".join(name) for name, source in found.items() if source is None)
    if others:
        message = f"reads {', '.join(others)}; a view reads {_NAMES} and nothing else"
        raise ValueError(message)
    if not found:
        message = f"reads no table; a view reads {_NAMES}"
        raise ValueError(message)
    sources = sorted({source for source in found.values() if source is not None})
    if all(source.external for source in sources):
        message = f"reads {sources[0]} alone, which no commit of the lake tells of\njoin {SILVER}"
        raise ValueError(message)
    of_key = [source for source in sources if source.is_of_key]
    if of_key and QuerySource() in sources:
        message = f"reads both {of_key[0]} and {SILVER_ALL}: it is over one key or over all of them"
        raise ValueError(message)
    return tuple(sources)


def reads_all(sql: str) -> bool:
    """Whether a query is over all keys, rather than over one at a time.

    Raises:
        ValueError: as `sources_of`.
    """
    return not any(source.is_of_key for source in sources_of(sql))


def with_names(sql: str, names: Mapping[QuerySource, str]) -> str:
    """A query that reads what it reads under other names.

    A table without an alias is called as it was, after the last part of its name.

    Args:
        sql: the query, as `sources_of` takes it.
        names: plain identifiers; what has none here keeps its own.
    """
    from sqlglot import exp  # noqa: PLC0415

    places: dict[int, tuple[int, str]] = {}
    for name, table in _tables(_query(sql)):
        source = _source(name)
        if source is None or source not in names:
            continue
        parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
        begin, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        alias = "" if table.alias else f" as `{parts[-1].name}`"
        places[begin] = end, names[source] + alias
    for begin, (end, text) in sorted(places.items(), reverse=True):
        sql = sql[:begin] + text + sql[end:]
    return sql


def _source(name: tuple[str, ...]) -> QuerySource | None:
    if len(name) == 2 and name[0] == EXTERNAL and name[1] not in {SILVER, SILVER_ALL}:  # noqa: PLR2004
        return QuerySource(external=name[1])
    return _in_lake(name)


def _in_lake(name: tuple[str, ...]) -> QuerySource | None:
    match name:
        case ("silver",):
            return QuerySource(is_of_key=True)
        case ("silver_all",):
            return QuerySource()
        case (("gold" | "gold_all") as layer, view):
            return QuerySource(view=view, is_of_key=layer == GOLD)
        case (feed, "silver" | "silver_all"):
            return QuerySource(feed=feed)
        case (feed, "gold" | "gold_all", view):
            return QuerySource(feed=feed, view=view)
    return None


@cache
def columns_of(sql: str) -> tuple[str, ...] | None:
    """The names of a query's columns; None where only Spark can tell, as after `select *`."""
    query = _query(sql)
    names = tuple(query.named_selects)
    is_told = len(names) == len(query.selects) and not {"", "*"} & set(names)
    return names if is_told else None


def _query(sql: str) -> "exp.Query":
    from sqlglot import exp  # noqa: PLC0415
    from sqlglot.errors import ErrorLevel, SqlglotError  # noqa: PLC0415

    try:
        statements = statements_of(sql, ErrorLevel.IMMEDIATE)
    except SqlglotError as problem:
        message = f"does not parse ({_complaint(problem)})"
        raise ValueError(message) from problem
    except RecursionError as problem:
        message = "is nested too deeply to be read\nname its parts, `with part as (select …)`"
        raise ValueError(message) from problem
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        message = "is no query\nwrite one `select … from silver`"
        raise ValueError(message)
    return statements[0]


def _tables(query: "exp.Query") -> list[tuple[tuple[str, ...], "exp.Table"]]:
    """Tables that a query reads: their names, in lower case as Spark compares them, and places.

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
    return [(tuple(part.name.lower() for part in table.parts), table) for table in tables]


def _complaint(problem: "SqlglotError") -> str:
    """What is wrong and where; the excerpt that follows is coloured for terminals."""
    errors = getattr(problem, "errors", None)
    if not errors:
        return first_line(problem)
    return f"{complaint_of(errors[0])}, line {errors[0]['line']}, column {errors[0]['col']}"
