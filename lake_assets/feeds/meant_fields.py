"""Which part of a file a validator means that looks at several: a model's own errors name no field.

Their messages begin with the field (`selects: chess is no key of this feed`), or quote a value.
"""

import re
from collections.abc import Iterator
from itertools import islice

from pydantic_core import ErrorDetails

from lake_assets.feeds.document import Document, Loc

_TWINS = re.compile(r"two (\w+) are called ([^,\n]+)")

_LISTS = {"views": "gold"}
"""Lists that are called otherwise than their fields."""

_SINK = re.compile(r"sink (\w+): ")

_WORD = re.compile(r"[\w.-]+")


def field_meant(document: Document, error: ErrorDetails) -> Loc:
    """Where what an error is about stands, as exactly as its words tell."""
    loc: list[int | str] = list(error["loc"])
    if error["type"] != "value_error":
        return loc
    message = error["msg"].removeprefix("Value error, ")
    if (twins := _TWINS.match(message)) is not None:
        named = _called(document, [*loc, _LISTS.get(twins[1], twins[1])], twins[2])
        second = next(islice(named, 1, None), None)
        return loc if second is None else [*second, "name"]
    if (sink := _SINK.match(message)) is not None:
        return next(_called(document, [*loc, "sinks"], sink[1]), loc)
    while message:
        head = message.replace("`", "").replace("'", "")
        found = _WORD.match(head)
        if found is None or not document.has([*loc, found[0]]):
            break
        loc.append(found[0])
        rest = head[found.end() :]
        if not rest.startswith((":", " is no key")):
            break
        message = rest.removeprefix(":").strip()
    return loc


def _called(document: Document, loc: Loc, name: str) -> Iterator[Loc]:
    """Where those of a list are that have a name."""
    place = 0
    while document.has([*loc, place]):
        if document.text_at([*loc, place, "name"]) == name:
            yield [*loc, place]
        place += 1
