"""The quick judge: names of columns and functions, and what does not parse, each with its place.

Takes no server and no Spark. Types, numbers of arguments and what is grouped are `by_spark`'s.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lake_assets.feeds.document import Loc
from lake_assets.formats.schema_merge import in_words
from lake_assets.model.sinks import CHANGE, UNSENT
from lake_assets.parquet.partitioning import can_partition
from lake_assets.validation.columns import FeedColumns
from lake_assets.validation.functions import known_functions
from lake_assets.validation.known_columns import UNKNOWN, Columns
from lake_assets.validation.query_columns import unresolved_in_query
from lake_assets.validation.sql_text import (
    Fault,
    Kind,
    Parsed,
    Read,
    calls_in,
    is_word_of_sql,
    nearest,
    parse_text,
)
from lake_assets.validation.texts import Declared, Name, Over, Text, Wanted


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a part of a feed."""

    loc: Loc
    fact: str
    next_step: str
    start: int = 0
    end: int = 0
    """Which characters of the value are meant; none of them if both are 0."""

    is_sure: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """The columns that texts and names of a feed may read."""

    own: FeedColumns
    views: Mapping[tuple[str, str], Columns]
    """By feed and view; of the feed itself the first is empty."""

    silver_of: Mapping[str, Columns]
    """By name of another feed."""

    def of(self, one: Text | Name, declared: Declared) -> Columns:
        """Those that something is over."""
        stages = {
            Over.DECODED: self.own.items,
            Over.COMMON: self.own.common,
            Over.SELECTED: self.own.selected,
            Over.SILVER: self.own.silver,
        }
        if one.over in stages:
            return stages[one.over]
        key = declared.feed.view_key_column
        of_view = self.views.get(("", one.view), UNKNOWN).and_(*([key] if key else []))
        if one.over is Over.VIEW:
            return of_view.and_(CHANGE)
        return (of_view if one.view else self.own.silver).without(UNSENT)


def judge(declared: Declared, known: Known) -> Iterator[Problem]:
    """All that is wrong with a feed, as far as it can be told quickly."""
    for text in declared.texts():
        yield from judge_text(text, declared, known)
    for name in declared.names():
        yield from _name(name, known.of(name, declared))
    yield from _keys(declared)


def judge_text(text: Text, declared: Declared, known: Known) -> Iterator[Problem]:
    """What is wrong with one text."""
    parsed = parse_text(text.sql, text.kind)
    named = [*_functions(text.sql), *_columns(text, parsed, declared, known)]
    # What is misspelt is mostly why a text reads as it does.
    for fault in named if named and parsed.tree is not None else (*parsed.faults, *named):
        start, end = fault.start + text.skipped, fault.end + text.skipped
        is_here = text.sql[fault.start : fault.end] != text.sql
        place = (start, end) if is_here else (0, 0)
        yield Problem(text.loc, fault.fact, fault.next_step, *place, is_sure=fault.is_sure)


def _functions(sql: str) -> Iterator[Fault]:
    known = known_functions()
    for name, start, end in calls_in(sql):
        if name not in known:
            close = get_close_matches(name, known, n=1, cutoff=0.7)
            step = f"Write `{close[0]}`" if close else "Use one of Spark's built-in functions"
            yield Fault(start, end, f"there is no function `{name}`", step)


def _columns(text: Text, parsed: Parsed, declared: Declared, known: Known) -> Iterator[Fault]:
    if parsed.tree is None:
        return
    if text.kind is Kind.QUERY:
        tables = _Tables(declared, known)
        for one in unresolved_in_query(parsed, tables.of):
            yield _missing(one.read, one.there, one.name)
        return
    columns = known.of(text, declared)
    if not columns.is_open:
        yield from _unresolved(parsed, columns)


def _unresolved(parsed: Parsed, columns: Columns) -> Iterator[Fault]:
    for read in (one for one in parsed.reads if _is_column(one, columns)):
        found = columns.find(read.path[0])
        if found is None:
            yield _missing(read, list(columns.types))
        elif (fault := _field(read, columns, found)) is not None:
            yield fault
    for left_out in _left_out(parsed.tree):
        if columns.find(left_out.name) is None:
            start, end = left_out.meta["start"], left_out.meta["end"] + 1
            missing = Read((left_out.name,), start - parsed.offset, end - parsed.offset, left_out)
            yield _missing(missing, list(columns.types))


def _left_out(tree: Any) -> list[Any]:  # noqa: ANN401 - sqlglot's
    stars = tree.find_all(exp.Star)
    named = [one for star in stars for one in star.args.get("except_") or ()]
    return [one for one in named if "start" in one.meta]


def _is_column(read: Read, columns: Columns) -> bool:
    """Whether a name has to be a column of the rows, as far as its words tell."""
    name = read.path[0].lower()
    if len(read.path) > 1 or columns.find(name) is not None:
        return True
    is_argument = isinstance(read.node.parent, exp.Func | exp.Extract)
    return not is_word_of_sql(name, is_argument=is_argument)


def _missing(read: Read, there: Sequence[str], missing: str | None = None) -> Fault:
    name = missing or read.path[0]
    fact = f"there is no column `{name}`"
    if (meant := nearest(name, there)) is not None:
        return Fault(read.start, read.end, fact, f"Write `{meant}`")
    if (word := nearest(name, _WORDS)) is not None:
        return Fault(read.start, read.end, fact, f"Write `{word}`, if that is meant")
    return Fault(read.start, read.end, fact, _there(there))


_WORDS = ("and", "between", "case", "distinct", "else", "false", "filter", "like", "not", "null")
"""Of SQL, which may be misspelt."""


def _there(names: Sequence[str]) -> str:
    own = [name for name in names if not name.startswith("_")]
    more = f" and {len(own) - _SHOWN} more" if len(own) > _SHOWN else ""
    return f"Columns here are {', '.join(own[:_SHOWN])}{more}" if own else "There are none"


_SHOWN = 15


def _field(read: Read, columns: Columns, name: str) -> Fault | None:
    """A field that a struct has not."""
    kind = columns.types[name]
    for part in read.path[1:]:
        if kind is None or not pa.types.is_struct(kind):
            return None
        fields = [kind.field(index) for index in range(kind.num_fields)]
        own = next((one for one in fields if one.name.lower() == part.lower()), None)
        if own is None:
            names = [one.name for one in fields]
            meant = nearest(part, names)
            step = f"Write `{meant}`" if meant else f"It has {', '.join(names[:_SHOWN])}"
            return Fault(read.start, read.end, f"`{name}` has no field `{part}`", step)
        kind = own.type
    return None


class _Tables:
    """What a view's query reads."""

    def __init__(self, declared: Declared, known: Known) -> None:
        self._declared, self._known = declared, known

    def of(self, name: tuple[str, ...]) -> Columns:
        """The columns of a table by its name in a query, in lower case."""
        match name:
            case ("silver" | "silver_all",):
                return self._known.own.silver
            case ("gold", view):
                return self._known.views.get(("", view), UNKNOWN)
            case ("gold_all", view):
                return self._with_key("", view)
            case (feed, "silver" | "silver_all"):
                return self._known.silver_of.get(feed, UNKNOWN)
            case (feed, "gold" | "gold_all", view):
                return self._with_key(feed, view)
        return UNKNOWN

    def _with_key(self, feed: str, view: str) -> Columns:
        whose = self._declared.feed.feed_of(feed)
        found = self._known.views.get((feed, view), UNKNOWN)
        key = whose.view_key_column
        return found.and_(key) if key else found


def _name(name: Name, columns: Columns) -> Iterator[Problem]:
    path = name.name
    found = path if path in columns.types else columns.find(path)
    if found is not None and (found == path or name.over is not Over.SENT):
        kind = columns.types[found]
        if kind is not None and not _FITS[name.wanted](kind):
            fact = f"`{path}` is {in_words(kind)}, and {_WANTS[name.wanted]}"
            yield Problem(name.loc, fact, "Name another column, or cast it in `select`")
        return
    if columns.is_open:
        return
    meant = nearest(path, columns.types)
    step = f"Write `{meant}`" if meant else _there(list(columns.types))
    yield Problem(name.loc, f"there is no column `{path}`", step)


_FITS: Mapping[Wanted, Callable[[pa.DataType], bool]] = {
    Wanted.ANY: lambda _: True,
    Wanted.TIME: pa.types.is_timestamp,
    Wanted.TEXT: pa.types.is_string,
    Wanted.PARTITION: can_partition,
}

_WANTS = {
    Wanted.TIME: "it must be a timestamp",
    Wanted.TEXT: "only text is hidden",
    Wanted.PARTITION: "no table is partitioned by such values",
}


def _keys(declared: Declared) -> Iterator[Problem]:
    """Keys that no route makes."""
    feed = declared.feed
    if feed.creates_keys or feed.into is not None:
        return
    for loc, key in declared.named_keys():
        if key not in feed.keys:
            meant = nearest(key, feed.keys)
            step = f"Write `{meant}`" if meant else f"Keys are {', '.join(feed.keys[:_SHOWN])}"
            yield Problem(loc, f"no route makes a key `{key}`", step)
