"""Names of columns that no value brings along, since a feed gives them to others; pure.

Only names are read; what an expression means Spark says.
"""

from collections.abc import Collection, Iterator, Sequence

from lake_assets.model.ddl import Array, Column, Struct, columns_of_ddl
from lake_assets.model.feeds import Feed
from lake_assets.model.keyed import END, END_PLACE, PLACE, START
from lake_assets.model.misfits import RESCUED
from lake_assets.model.payload import JsonPayload
from lake_assets.model.tombstones import TOMBSTONE
from lake_assets.model.transforms import ELEMENT, generators_in


def names_taken(feed: Feed, given: Collection[str] = ()) -> tuple[str, ...]:
    """Names that no value makes a column of a feed's silver by.

    Args:
        feed: whose.
        given: names of columns that its function gives.
    """
    declared = {column.name for column in feed.payload.declared_columns}
    of_keyed = (START, END, PLACE, END_PLACE) if any(view.keyed for view in feed.gold) else ()
    names = {*given, *_selected(feed), *_of_elements(feed)} - declared
    return (*feed.partition_days, ELEMENT, TOMBSTONE, *of_keyed, *sorted(names))


def names_given(items: Sequence[str]) -> frozenset[str]:
    """The names that items of a `select` give to what they compute of other columns.

    `cast(a as int) as a` gives a column its own name again, and `* except (a), b as a` takes one's
    place: a value may have such.
    """
    found, own = set(), set()
    for names, reads in map(_names_in, items):
        found |= {name for name in names if name.lower() not in reads}
        own |= reads if not names else set()
    return frozenset(name for name in found if name.lower() not in own)


def with_masked_as_text(feed: Feed, given: Collection[str] = ()) -> Feed:
    """The feed whose masked columns are text from the start, if values would say of which type.

    One number among the texts of the first batch would make them a number's, which nothing hides.

    Args:
        feed: whose.
        given: names of columns that its function gives.
    """
    payload = feed.payload.json_
    if payload is None or not feed.payload.grows:
        return feed
    known = {column.name.lower() for column in payload.columns}
    known |= {name.lower() for name in (*_selected(feed), *given, RESCUED)}
    masked = dict.fromkeys(name for mask in (feed.mask, *feed.masks.values()) for name in mask)
    new = [name for name in masked if name.lower() not in known and _can_be_declared(name)]
    return feed if not new else _with_columns(feed, payload, new)


def _selected(feed: Feed) -> frozenset[str]:
    """The names that its `select` gives to what is computed, and those of its keys."""
    return frozenset(name for items in feed.all_selects for name in names_given(items))


def _of_elements(feed: Feed) -> frozenset[str]:
    """The names that Spark gives to what an item makes of elements, where it names nothing."""
    from sqlglot import exp, parse_one  # noqa: PLC0415 - takes 0.3 s, and workers need it not
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    names: set[str] = set()
    for item in generators_in(feed.select):
        try:
            (made,) = parse_one(f"select {item}", read="spark").expressions
        except (SqlglotError, ValueError):
            continue  # Spark says what is wrong with it
        if isinstance(made, exp.Alias | exp.Aliases):
            continue
        if not item.lower().startswith("inline"):
            names |= {"col", "pos"} if item.lower().startswith("pos") else {"col"}
        elif (array := made.find(exp.Column)) is not None:
            path = [part.name.lower() for part in array.parts]
            names |= {*_fields_at(path, feed.payload.declared_columns)}
    return frozenset(names)


def _fields_at(path: Sequence[str], columns: Sequence[Column]) -> Iterator[str]:
    """The fields of the structs that an array has, where its type is declared."""
    kind = next((one.type for one in columns if one.name.lower() == path[0]), None)
    if isinstance(kind, Struct) and path[1:]:
        yield from _fields_at(path[1:], kind.columns)
    if isinstance(kind, Array) and isinstance(kind.item, Struct):
        yield from (one.name for one in kind.item.columns)


def _can_be_declared(name: str) -> bool:
    try:
        return bool(columns_of_ddl(f"{name} string"))
    except ValueError:
        return False  # nor does a value bring such a column


def _with_columns(feed: Feed, payload: JsonPayload, names: Sequence[str]) -> Feed:
    field = "hints" if payload.infer else "ddl"
    ddl = ", ".join(filter(None, (getattr(payload, field), *(f"{name} string" for name in names))))
    declared = payload.model_copy(update={field: ddl})
    return feed.model_copy(update={"payload": feed.payload.model_copy(update={"json_": declared})})


def _names_in(item: str) -> tuple[list[str], set[str]]:
    """The names that an item gives, and those that it reads or leaves out, in lower case."""
    from sqlglot import exp, parse_one  # noqa: PLC0415 - takes 0.3 s, and workers need it not
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    try:
        select = parse_one(f"select {item}", read="spark")
    except SqlglotError:
        return [], set()  # Spark says what is wrong with it
    return list(_given(select)), {
        column.parts[0].name.lower() for column in select.find_all(exp.Column)
    }


def _given(select: object) -> Iterator[str]:
    from sqlglot import exp  # noqa: PLC0415 - as above

    for one in select.expressions if isinstance(select, exp.Select) else ():
        if isinstance(one, exp.Alias):
            yield one.alias
        elif isinstance(one, exp.Aliases):
            yield from (name.name for name in one.aliases)
        elif isinstance(one, exp.Column) and len(one.parts) > 1 and not one.is_star:
            yield one.name
