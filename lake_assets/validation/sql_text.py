"""A text of SQL taken apart: where it does not parse, which functions and columns it names.

sqlglot reads it, which knows where each word is. It is no judge of Spark's SQL: what it takes
Spark may refuse, and the other way round; `by_spark` has the last word.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import pairwise
from typing import Any

from sqlglot import exp, tokenize
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from lake_assets.model.spark_sql import statements_of
from lake_assets.model.sql_words import complaint_of


class Kind(StrEnum):
    """What a text is."""

    CONDITION = "condition"  # of a row: true or false
    VALUE = "expression"  # of a row
    AGGREGATE = "aggregate"  # of many rows
    ITEM = "item"  # of a SELECT: may have a name of its own, or be a star
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a part of a text: its characters from `start` to `end`."""

    start: int
    end: int
    fact: str
    next_step: str = ""
    is_sure: bool = True
    """Whether Spark refuses it, too, as far as we know; it may take what does not parse here."""


@dataclass(frozen=True, slots=True)
class Read:
    """A column that is read."""

    path: tuple[str, ...]
    """Its name, and those of fields in it, or that of a table before it."""

    start: int
    end: int
    node: Any
    """As sqlglot has it."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text that was taken apart."""

    tree: Any
    """As sqlglot has it; None if it does not parse."""

    faults: tuple[Fault, ...]
    reads: tuple[Read, ...] = ()
    offset: int = 0
    """How far places in the tree are behind those in the text."""


_SELECT = "select "


def parse_text(sql: str, kind: Kind) -> Parsed:
    """Take a text apart."""
    before = "" if kind is Kind.QUERY else _SELECT
    try:
        trees = statements_of(f"{before}{sql}", ErrorLevel.RAISE)
    except SqlglotError as problem:
        return Parsed(None, (_unparsed(sql, problem, len(before)),))
    except RecursionError:
        fact = "is nested too deeply to be read"
        return Parsed(None, (Fault(0, len(sql), fact, "Make several of it"),))
    tree = trees[0] if len(trees) == 1 else None
    if tree is None or not isinstance(tree, exp.Query):
        return Parsed(None, (Fault(0, len(sql), f"is no {kind}", _example(kind)),))
    reads = tuple(_reads(tree, len(before)))
    return Parsed(tree, tuple(_misread(sql, tree, kind)), reads, len(before))


def _unparsed(sql: str, problem: SqlglotError, before: int) -> Fault:
    errors = problem.errors if isinstance(problem, ParseError) else []
    if not errors:
        fact = "does not parse: a quote or a comment is not closed"
        return Fault(0, len(sql), fact, "Close it", is_sure=False)
    first = errors[0]
    here = str(first.get("highlight") or "")
    start = max(len(str(first.get("start_context") or "")) - before, 0)
    if len(sql) + before > _CONTEXT:  # the context is cut off
        start = max(sql.find(here), 0)
    start = min(start, max(len(sql) - 1, 0))
    fact = f"does not parse: {complaint_of(first)}"
    end = start + max(len(here), 1)
    return Fault(start, min(end, len(sql)), fact, "Correct it there", is_sure=False)


_CONTEXT = 100
"""Characters around a fault that sqlglot shows."""


def _example(kind: Kind) -> str:
    if kind is Kind.AGGREGATE:
        return "Write one such as count(*)"
    if kind is Kind.QUERY:
        return "Write one `select … from silver`"
    return "Write one such as player <> ''" if kind is Kind.CONDITION else "Write a column's name"


_CLAUSES = ("from_", "from", "where", "group", "order", "limit", "having", "joins", "with_", "with")


def _misread(sql: str, tree: Any, kind: Kind) -> Iterator[Fault]:  # noqa: ANN401
    """What is there beside the one expression that there should be."""
    if kind is Kind.QUERY:
        return
    clause = next((name for name in _CLAUSES if tree.args.get(name)), None)
    if clause is not None:
        fact = f"is a query with `{clause.strip('_')}`, and no {kind}"
        yield Fault(0, len(sql), fact, f"Leave out `{clause.strip('_')}` and what follows")
    if len(tree.expressions) > 1:
        fact = f"is {len(tree.expressions)} expressions with commas between them, and no {kind}"
        yield Fault(0, len(sql), fact, "Write one each")
    one = tree.expressions[0] if tree.expressions else None
    if kind is not Kind.ITEM and isinstance(one, exp.Alias):
        own = one.args["alias"]
        start = own.meta.get("start", len(_SELECT)) - len(_SELECT)
        fact = f"reads as `{one.this.sql('spark')}` with the name `{one.alias}`"
        step = f"Leave `{one.alias}` out, or write an operator before it"
        yield Fault(start, start + len(one.alias), fact, step)


def _reads(tree: Any, offset: int) -> Iterator[Read]:  # noqa: ANN401
    for column in tree.find_all(exp.Column):
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        if not parts or len(parts) != len(column.parts) or "start" not in parts[0].meta:
            continue
        start, end = parts[0].meta["start"] - offset, parts[-1].meta["end"] + 1 - offset
        yield Read(tuple(part.name for part in parts), start, end, column)


def calls_in(sql: str) -> Iterator[tuple[str, int, int]]:
    """Names with a bracket behind them, in lower case, and where they are; keywords are none."""
    try:
        tokens: Sequence[Token] = tokenize(sql, read="spark")
    except SqlglotError:
        return
    before = None
    for token, after in pairwise(tokens):
        is_call = token.token_type is TokenType.VAR and after.token_type is TokenType.L_PAREN
        is_named = before is not None and (
            before.token_type in _NOT_BEFORE or before.text.lower() in _NOT_BEHIND
        )
        if is_call and not is_named:
            yield token.text.lower(), token.start, token.end + 1
        before = token


_NOT_BEFORE = {TokenType.DOT, TokenType.WITH, TokenType.ALIAS, TokenType.TABLE}
"""After these a name with a bracket is no function: `with days (day) as (…)`."""

_NOT_BEHIND = {"within", "recursive"}
"""Nor after these words: `within group (order by score)`, `with recursive days (day) as (…)`."""


_WITHOUT_BRACKETS = {
    *("current_date", "current_timestamp", "current_time", "current_user", "user", "session_user"),
    *("localtimestamp", "current_catalog", "current_database", "current_schema"),
}
"""Functions that are called without any."""

_UNITS = {
    *("year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second"),
    *("millisecond", "microsecond", "years", "months", "weeks", "days", "hours", "minutes"),
    *("seconds", "yearofweek", "dow", "doy", "isodow"),
}
"""What `timestampdiff` and its like take for a unit."""


def is_word_of_sql(name: str, *, is_argument: bool) -> bool:
    """Whether what looks like a column may be something else.

    Args:
        name: in lower case.
        is_argument: whether it is one of a function.
    """
    return name in _WITHOUT_BRACKETS or (is_argument and name in _UNITS)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one that is written most alike, if one is."""
    by_lower = {one.lower(): one for one in names}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None
