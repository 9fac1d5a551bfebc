"""What a query may have: one SELECT, over tables and a few functions that make rows.

DuckDB's own parser says what is in it (`json_serialize_sql`), so that what is judged here is what
runs. That nothing beside the lake can be reached is `engine`'s doing as well: this is what keeps
users from functions that take addresses of memory, and says in words what is not there.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from duckdb import DuckDBPyConnection

from lake_assets.errors import QueryError
from lake_assets.query.names import NamedTable

MOST_CHARACTERS = 200_000
"""Of a query: what is written by hand or by a program has a thousandth of it."""

_MOST_PARTS = 200_000
"""Objects that a parsed query may have: a second's work to look at."""

_DEEPEST = 200
"""Brackets within each other: DuckDB (2.0.0) reads thousands that do not close for minutes."""

_BRACKET = re.compile(r"[()\[\]{}]")

_ROW_FUNCTIONS = frozenset({"generate_series", "json_each", "json_tree", "range", "unnest"})
"""That may stand in a FROM: all others read files, settings or memory."""

_SELECTS = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})

_WHAT = "the query"


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A query that may run, if its tables are there."""

    sql: str
    tables: tuple[NamedTable, ...]
    """All that it names in a FROM; those of its own WITH are among them."""

    own: frozenset[str]
    """Names that its WITH gives, in lower case."""

    columns: frozenset[str]
    """Every name that may be a column's."""


def read_statement(parser: DuckDBPyConnection, sql: str) -> Statement:
    """What a query asks for.

    Args:
        parser: any connection; nothing of the query runs.
        sql: as a user wrote it.

    Raises:
        QueryError: it cannot be parsed, or asks for what a query here may not have.
    """
    if len(sql) > MOST_CHARACTERS:
        fact = f"has {len(sql):,} characters; at most are {MOST_CHARACTERS:,}"
        raise QueryError(_WHAT, fact, "Shorten it")
    if any("\ud800" <= one <= "\udfff" for one in sql):
        raise QueryError(_WHAT, "is no text in UTF-8", "Correct it, or the terminal's encoding")
    if _depth(sql) > _DEEPEST:
        raise QueryError(_WHAT, "is nested too deep", "Write it as several WITH")
    tables: list[NamedTable] = []
    own: set[str] = set()
    columns: set[str] = set()
    for part in _parts(_parsed(parser, sql)):
        _ensure_allowed(part, sql)
        if part.get("type") == "BASE_TABLE":
            path = tuple(part["qualified_name"]["path"])
            tables.append(NamedTable(parts=path, place=place_of(sql, part["query_location"])))
        columns.update(part.get("column_names") or ())
        columns.update(part.get("using_columns") or ())
        own.update(one["key"].casefold() for one in (part.get("cte_map") or {}).get("map", ()))
    return Statement(sql=sql, tables=tuple(tables), own=frozenset(own), columns=frozenset(columns))


def _depth(sql: str) -> int:
    """Brackets that are open at once, at most; those in texts count as well."""
    depth = deepest = 0
    for one in _BRACKET.findall(sql):
        depth = depth + 1 if one in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _parsed(parser: DuckDBPyConnection, sql: str) -> dict[str, Any]:
    ((told,),) = parser.execute("select json_serialize_sql(?::varchar)", [sql]).fetchall()
    try:
        parsed: dict[str, Any] = json.loads(told)
    except RecursionError:
        raise QueryError(_WHAT, "is nested too deep", "Write it as several WITH") from None
    if parsed["error"]:
        if parsed["error_type"] == "not implemented":
            fact = "is no SELECT, and nothing else is run: a lake is only read here"
            raise QueryError(_WHAT, fact, "Write `select … from …`")
        message = parsed["error_message"].partition("\n")[0].partition(" Use ")[0].rstrip(".")
        place = place_of(sql, int(parsed.get("position") or -1))
        raise QueryError(_WHAT, f"cannot be parsed{place}: {message}", "Correct it")
    if len(parsed["statements"]) != 1:
        raise QueryError(_WHAT, "is not one SELECT but several or none", "Write one")
    return parsed


def _parts(parsed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each object of a parsed query; without recursion, for queries are as deep as users like."""
    left: list[Any] = [parsed]
    seen = 0
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            seen += 1
            if seen > _MOST_PARTS:
                raise QueryError(_WHAT, "has too many parts", "Shorten it")
            yield one
            left += one.values()


def _ensure_allowed(part: dict[str, Any], sql: str) -> None:
    kind = str(part.get("type", ""))
    if kind.endswith("_NODE") and kind not in _SELECTS:
        fact = f"has a part that is no SELECT ({kind.removesuffix('_NODE').replace('_', ' ')})"
        raise QueryError(_WHAT, fact, "A lake is only read here")
    if kind == "SHOW_REF" and part.get("query") is None:
        step = "`lake-assets tables` lists tables; `describe silver.name` shows a table's columns"
        raise QueryError(_WHAT, "asks for what DuckDB has, which is nothing", step)
    if kind == "TABLE_FUNCTION":
        function = part["function"]
        name = str(function.get("function_name", "")).casefold()
        if name not in _ROW_FUNCTIONS or function.get("schema") or function.get("catalog"):
            place = place_of(sql, part["query_location"])
            fact = f"may not be used{place}: a query reads the lake's tables and nothing else"
            allowed = ", ".join(sorted(_ROW_FUNCTIONS))
            raise QueryError(f"function {name}()", fact, f"In a FROM there may be {allowed}")
    if kind == "FUNCTION" and str(part.get("function_name", "")).startswith("__internal"):
        name = part["function_name"]
        raise QueryError(f"function {name}()", "is DuckDB's own", "Use another")


def place_of(sql: str, position: int) -> str:
    """Where in a query a byte is, as a message says it; empty if that is not known."""
    content = sql.encode(errors="surrogatepass")
    if not 0 <= position <= len(content):
        return ""
    before = content[:position].decode(errors="replace")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return f" (line {line}, column {column})" if "\n" in sql.strip() else f" (column {column})"
