"""What a feed's SQL may not reach: code of the JVM's, names made while it runs, other tables.

Looks at texts, without Spark. Whose tables a view's query reads is `model.queries`'; that it says
the same each time is `spark.determinism`'s.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from lake_assets.feeds.document import Loc
from lake_assets.model.feeds import Feed

_GAP = r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/|--[^\n]*\n)*+"
"""What may stand between two words of SQL; matched in one way only, however long it is."""

_CALLS = re.compile(rf"\b(reflect|try_reflect|java_method|identifier)`?{_GAP}\(", re.IGNORECASE)
"""Also where it is within a text in quotes: what ends a text hangs on Spark's settings, and nobody
writes these words there."""

_SUBQUERY = re.compile(rf"\({_GAP}(select|from|with|table|values)\b", re.IGNORECASE)

_PROSE = frozenset({"description", "name", "owner", "owners", "note", "tags"})

_WHY = {
    "identifier": "makes a name while the query runs, so nobody could tell what it reads",
}

_HAVE_EXPRESSIONS = (
    *("where", "select", "selects", "mask", "masks", "route", "routes", "expectations"),
    *("deduplicate", "explode", "key", "checks", "gold", "sinks"),
)
"""Fields of a feed that have SQL somewhere below."""


def unreachable(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """What of a feed's SQL reaches further than its rows, and why it may not."""
    for name in _HAVE_EXPRESSIONS:
        for loc, text in _texts((name,), getattr(feed, name, None)):
            if call := _CALLS.search(text):
                function = call[1].lower()
                why = _WHY.get(function, "runs any code of the JVM's")
                yield loc, f"{function}() may not be used: it {why}\nleave it out"
            elif not _is_query(loc) and (found := _SUBQUERY.search(text)):
                fact = f"`({found[1].lower()} …` reads other tables, and an expression its own row"
                yield loc, f"{fact}\ncompute it in a gold view with `sql`, which joins"


def _is_query(loc: Loc) -> bool:
    """Whether it is the query of a gold view, whose tables are looked at elsewhere."""
    return len(loc) == 3 and (loc[0], loc[2]) == ("gold", "sql")  # noqa: PLR2004 - gold, which, sql


def _texts(loc: tuple[int | str, ...], value: object) -> Iterator[tuple[Loc, str]]:
    """Each text below a field, with where it is; prose is none of SQL."""
    if isinstance(value, str):
        yield loc, value
    for part, inner in _parts(value):
        yield from _texts((*loc, part), inner)


def _parts(value: object) -> list[tuple[int | str, object]]:
    if isinstance(value, BaseModel):
        names = (name for name in type(value).model_fields if name not in _PROSE)
        return [(name, getattr(value, name)) for name in names]
    if isinstance(value, Mapping):
        return [(str(name), inner) for name, inner in value.items()]
    return list(enumerate(value)) if isinstance(value, list | tuple) else []
