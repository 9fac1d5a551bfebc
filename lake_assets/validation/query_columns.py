"""Columns that a query reads and none of its tables has, as far as its words tell.

Where a table is not known, or something selects all columns of one, nothing is said: a name that
is right must never be refused.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from lake_assets.validation.known_columns import UNKNOWN, Columns
from lake_assets.validation.sql_text import Parsed, Read, is_word_of_sql


@dataclass(frozen=True, slots=True)
class Nowhere:
    """A column that no table has."""

    read: Read
    name: str
    """Of what is missing: the column, or one of the table before it."""

    there: Sequence[str]
    """The columns there are instead."""


TablesOf = Callable[[tuple[str, ...]], Columns]
"""The columns of a table by its name."""


def unresolved_in_query(parsed: Parsed, tables: TablesOf) -> Iterator[Nowhere]:
    """Each column that is nowhere."""
    try:
        scopes = traverse_scope(parsed.tree)
    except SqlglotError:
        return
    places = {id(read.node): read for read in parsed.reads}
    known: dict[int, Columns] = {}
    told: set[int] = set()
    for scope in scopes:  # inner ones first
        known[id(scope.expression)] = _selected_of(scope, known, tables)
    for scope in scopes:
        for column in scope.columns:
            read = places.get(id(column))
            if read is None or id(column) in told:
                continue
            told.add(id(column))
            if (found := _nowhere(read, scope, known, tables)) is not None:
                yield Nowhere(read, *found)


def _nowhere(
    read: Read, scope: Scope, known: dict[int, Columns], tables: TablesOf
) -> tuple[str, Sequence[str]] | None:
    """What is not there, and the names that are; None if it is there, or may be."""
    name = read.path[0].lower()
    names: list[str] = []
    around: Scope | None = scope
    made_of: Scope | None = None
    while around is not None:
        if _has_laterals(around):
            return None
        if made_of is not None and (made_of.is_cte or made_of.is_derived_table):
            # Tables of the query around are made of this one, and none of its own.
            made_of, around = around, around.parent
            continue
        made_of = around
        sources = {alias.lower(): one for alias, one in around.sources.items()}
        if len(read.path) > 1 and name in sources:
            columns = _columns_of(sources[name], known, tables)
            is_there = columns.is_open or columns.find(read.path[1]) is not None
            every = [_columns_of(source, known, tables) for source in sources.values()]
            # A column may have the name of a table, and fields: `w.start`.
            is_there = is_there or any(one.is_open or one.find(name) is not None for one in every)
            return None if is_there else (read.path[1], list(columns.types))
        for source in sources.values():
            columns = _columns_of(source, known, tables)
            if columns.is_open or columns.find(name) is not None:
                return None
            names += columns.types
        if name in _aliases(around) or name in _windows(around):
            return None
        around = around.parent
    may_be_other = is_word_of_sql(name, is_argument=isinstance(read.node.parent, exp.Func))
    return None if may_be_other else (read.path[0], names)


def _has_laterals(scope: Scope) -> bool:
    """Whether rows get columns by other ways than tables: then their names are not looked at."""
    tree = scope.expression
    found = tree.args.get("laterals") or any(
        isinstance(join.this, exp.Lateral | exp.Unnest) for join in tree.args.get("joins") or ()
    )
    return bool(found) or bool(tree.args.get("pivots"))


def _aliases(scope: Scope) -> set[str]:
    """Names that the select itself gives, which what comes after may read."""
    selects = getattr(scope.expression, "selects", [])
    names = {one.alias.lower() for one in selects if isinstance(one, exp.Alias)}
    windows = scope.expression.args.get("windows") or ()
    return names | {one.name.lower() for one in windows}


def _windows(scope: Scope) -> set[str]:
    """Columns that `window(…)` and `session_window(…)` give to the select that they are in."""
    calls = scope.expression.find_all(exp.Anonymous)
    return {call.name.lower() for call in calls} & {"window", "session_window"}


def _columns_of(source: Any, known: dict[int, Columns], tables: TablesOf) -> Columns:  # noqa: ANN401
    if isinstance(source, Scope):
        return known.get(id(source.expression), UNKNOWN)
    if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        return tables(tuple(part.name.lower() for part in source.parts))
    return UNKNOWN


def _selected_of(scope: Scope, known: dict[int, Columns], tables: TablesOf) -> Columns:
    """What a query gives."""
    tree = scope.expression
    if _named_outside(tree):
        return UNKNOWN
    if isinstance(tree, exp.SetOperation):
        return known.get(id(tree.this.unnest()), UNKNOWN)
    selects = getattr(tree, "selects", [])
    if not all(map(_is_named, selects)):
        return UNKNOWN
    names: dict[str, None] = {}
    for one in selects:
        if one.is_star:
            for source in scope.sources.values():
                columns = _columns_of(source, known, tables)
                if columns.is_open:
                    return UNKNOWN
                names |= dict.fromkeys(columns.types)
        else:
            names[one.alias_or_name] = None
    return Columns(dict(names))


def _is_named(one: Any) -> bool:  # noqa: ANN401 - sqlglot's
    """Whether the words tell the name of what is selected.

    Else Spark names it, and `explode` and its like make several columns of it.
    """
    if one.is_star:
        return isinstance(one, exp.Star) and not one.args.get("except_")
    return isinstance(one, exp.Alias | exp.Column)


def _named_outside(tree: Any) -> bool:  # noqa: ANN401 - sqlglot's
    """Whether the columns get other names where the query is named: `as t (a, b)`."""
    alias = tree.parent.args.get("alias") if tree.parent is not None else None
    return bool(isinstance(alias, exp.TableAlias) and alias.args.get("columns"))
