"""Reads feeds from a folder of YAML files, or says on which line what is wrong and what is right.

What a feed is, is `model.feeds`' business.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from lake_assets.errors import FeedError
from lake_assets.feeds.cron import complaint
from lake_assets.feeds.document import Document, Loc
from lake_assets.feeds.flows import with_targets, wrong_flows
from lake_assets.feeds.references import wrong_references
from lake_assets.model.ddl import Scalar
from lake_assets.model.feeds import Feed
from lake_assets.model.keyed_views import name_of_deletes
from lake_assets.model.owners import Owner, claims_of
from lake_assets.model.routes import KEY_TYPES, Route
from lake_assets.model.tables import LOG_NAMES

_SHIPPED = Path(__file__).parent

_SHOWN = 3
"""Problems named at once; more would not fit a line that people read."""


def load_feeds(folder: Path | None) -> tuple[Feed, ...]:
    """All feeds of a folder's `*.yaml` and `*.yml`, sorted by name; None means the shipped ones.

    Each knows the others.

    Raises:
        FeedError: there is no feed, a file is wrong, two feeds want the same table, or a view reads
            what is not there or reads it in turn.
    """
    folder = folder or _SHIPPED
    feeds = {path: _load(path) for path in _files(folder)}
    _refuse_twins(feeds)
    feeds = _with_targets(feeds)
    _refuse_shared_tables(feeds)
    _refuse_references(feeds)
    loaded = sorted(feeds.values(), key=lambda feed: feed.feed)
    return tuple(feed.beside(loaded) for feed in loaded)


def find_feed(feeds: Sequence[Feed], name: str) -> Feed:
    """The feed of that name.

    Raises:
        FeedError: there is none.
    """
    for feed in feeds:
        if feed.feed == name:
            return feed
    names = ", ".join(feed.feed for feed in feeds)
    raise FeedError(f"feed {name!r}", "is not declared", f"Use one of: {names}")


def _files(folder: Path) -> list[Path]:
    try:
        files = sorted(p for p in folder.iterdir() if p.suffix in {".yaml", ".yml"})
    except OSError as problem:
        raise FeedError(
            f"feeds folder {folder}",
            f"cannot be read ({problem.strerror or problem})",
            "Correct LAKE_ASSETS_FEEDS, or unset it to use the shipped feeds",
        ) from problem
    if not files:
        raise FeedError(
            f"feeds folder {folder}",
            "has no *.yaml file",
            "Put a feed there, or unset LAKE_ASSETS_FEEDS to use the shipped feeds",
        )
    return files


def _load(path: Path) -> Feed:
    document = Document(path)
    try:
        feed = Feed.model_validate(document.data)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        lines = [(document.line_of(error["loc"]), _explain(error)) for error in errors]
        raise _wrong(path, lines) from problem
    facts = [*_bad_crons(feed), *_foreign_columns(feed), *_foreign_route(feed)]
    facts += [*_shared_templates(feed), *_unhinted_partitions(feed)]
    wrong = [(document.line_of(loc), f"{_dotted(loc)}: {fact}") for loc, fact in facts]
    if wrong:
        raise _wrong(path, wrong)
    return feed


def _wrong(path: Path, problems: list[tuple[int, str]]) -> FeedError:
    """The error of a file, its first problems in the order of their lines."""
    problems.sort(key=lambda problem: problem[0])
    first, *others = problems[:_SHOWN]
    fact = "; ".join([first[1], *(f"line {line}: {text}" for line, text in others)])
    if len(problems) > _SHOWN:
        fact += f"; and {len(problems) - _SHOWN} more"
    return FeedError(f"{path}, line {first[0]}", fact, "Correct the file")


def _bad_crons(feed: Feed) -> Iterator[tuple[Loc, str]]:
    if feed.run is not None and (fact := complaint(feed.run)) is not None:
        yield ("run",), fact
    brought = {name_of_deletes(view.name) for view in feed.gold if view.keyed}
    for index, view in enumerate(feed.gold):
        fact = complaint(view.schedule) if view.schedule is not None else None
        if fact is not None and view.name not in brought:
            yield ("gold", index, "schedule"), fact


def _shared_templates(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """Views whose tables would be called as silver's, whatever the key."""
    for view in feed.gold:
        if not view.is_over_all and feed.gold_table(view, "{key}").name == feed.tables.silver:
            fact = f"silver and gold view {view.name!r} both have tables {feed.tables.silver!r}"
            yield ("tables", "gold"), fact


def _foreign_columns(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """What gold's checks read and their views have not; silver's columns are known in Spark."""
    for index, view in enumerate(feed.gold):
        present = view.columns
        if present is None:
            continue  # only Spark knows
        for place, check in enumerate(view.checks):
            for column in check.columns:
                if column not in present:
                    fact = f"{column!r} is no column of the view; {_suggest(column, list(present))}"
                    yield ("gold", index, "checks", place, check.kind), fact


def _foreign_route(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """A route by a column that the payload's declared schema has not, or that holds no keys.

    Columns that rows bring are none to route by: rows would decide what type the keys have. Those
    that are selected are known once Spark has resolved them (`silver.selecting_format`).
    """
    if feed.payload.needs_registry or feed.select:
        return
    if feed.route is not None:
        yield from _foreign_column(feed, feed.route, ("route",))
    for place, route in enumerate(feed.routes):
        yield from _foreign_column(feed, route, ("routes", place))


def _foreign_column(feed: Feed, route: Route, loc: Loc) -> Iterator[tuple[Loc, str]]:
    payload, path = feed.payload, route.column
    if path is None:
        return  # only Spark knows, or the source
    name = path.partition(".")[0]
    declared = {column.name: column.type for column in payload.declared_columns}
    if name not in declared:
        where = "hints" if payload.infers else "schema"
        fact = f"{name!r} is no column of the payload's {where}"
        yield (*loc, "column"), f"{fact}; {_suggest(name, list(declared))}"
        return
    if route.plain_column is None:
        return
    kind = declared[name]
    word = kind.name if isinstance(kind, Scalar) else type(kind).__name__.lower()
    if word not in KEY_TYPES:
        fact = f"{name!r} is of type {word}, which holds no keys"
        yield (*loc, "column"), f"{fact}: use one of {', '.join(KEY_TYPES)}"


def _unhinted_partitions(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """Partitions by columns whose type rows decide: they might get one that partitions nothing."""
    hinted = {column.name for column in feed.payload.declared_columns}
    sources = dict.fromkeys(column.source for by in feed.partitions for column in by)
    for name in sources if feed.payload.infers and not feed.select else ():
        if name not in hinted:
            fact = f"{name!r} is no column of the payload's hints"
            yield ("partition_by",), f"{fact}; {_suggest(name, sorted(hinted))}"


def _explain(problem: ErrorDetails) -> str:
    """Field, fact and, where it is not in pydantic's words already, what would be right."""
    loc = problem["loc"]
    where = _dotted(loc) or "the file"
    kind = problem["type"]
    if kind == "missing":
        return f"{where} is missing"
    if kind == "extra_forbidden":
        return f"{where} is no field; {_suggest(str(loc[-1]), _fields_at(loc[:-1]))}"
    if kind == "model_type":
        return f"{where} must be a mapping of {', '.join(_fields_at(loc))}"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if kind == "value_error":
        return f"{where}: {message}"
    return f"{where} must be {message}, not {_shown(problem['input'])}"


def _suggest(name: str, fields: list[str]) -> str:
    close = get_close_matches(name, fields, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"fields here are {', '.join(fields)}" if fields else "there are none yet"


def _fields_at(loc: Loc) -> list[str]:
    """Names of the fields that the model at `loc` has."""
    kind: Any = Feed
    for part in loc:
        if isinstance(part, int):
            kind = get_args(kind)[0]
        elif _is_model(kind):
            kind = _unwrapped(_fields_of(kind)[part].annotation)
    return list(_fields_of(kind)) if _is_model(kind) else []


def _fields_of(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that a feed has for them."""
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _unwrapped(kind: Any) -> Any:  # noqa: ANN401 - annotations have no type of their own
    """The model of an optional one, as `RowCount` of `RowCount | None`."""
    if isinstance(kind, UnionType):
        return next((member for member in get_args(kind) if _is_model(member)), kind)
    return kind


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _dotted(loc: Loc) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return "".join(parts).removeprefix(".").removesuffix(".[key]")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - about half a line


def _refuse_twins(feeds: dict[Path, Feed]) -> None:
    """Raise if two feeds have one name."""
    named: dict[str, Path] = {}
    for path, feed in feeds.items():
        if feed.feed in named:
            fact = f"feed {feed.feed!r} is declared in {named[feed.feed]} already"
            raise FeedError(str(path), fact, "Give one of them another name")
        named[feed.feed] = path


def _with_targets(feeds: dict[Path, Feed]) -> dict[Path, Feed]:
    """Each feed with what it has of another whose tables it fills; raises if that is wrong."""
    paths = {feed.feed: path for path, feed in feeds.items()}
    problems: dict[Path, list[tuple[int, str]]] = {}
    for feed, name, fact in wrong_flows(list(feeds.values())):
        path = paths[feed.feed]
        line = Document(path).line_of((name,))
        problems.setdefault(path, []).append((line, f"{name}: {fact}"))
    for path, found in problems.items():
        raise _wrong(path, found)
    resolved = dict(zip(feeds, with_targets(list(feeds.values())), strict=True))
    for path, feed in resolved.items():
        if feed.into is not None:
            facts = [*_foreign_route(feed), *_unhinted_partitions(feed)]
            line = Document(path).line_of(("into",))
            told = f"into: feed {feed.into!r} declares"
            wrong = [(line, f"{told} {_dotted(loc)}, and {fact}") for loc, fact in facts]
            if wrong:
                raise _wrong(path, wrong)
    return resolved


def _refuse_shared_tables(feeds: dict[Path, Feed]) -> None:
    """Raise if a table would have the name of another."""
    owners: dict[str, Owner] = {}
    for path, feed in feeds.items():
        for table, owner in claims_of(feed, feed.keys):
            if table.name in LOG_NAMES:
                fact = f"table {table.name} of {owner} has the name of a log of the lake"
                raise FeedError(str(path), fact, "Give it another name in `tables`")
            if owners.setdefault(table.name, owner) != owner:
                fact = f"table {table.name} of {owner} is that of {owners[table.name]} already"
                raise FeedError(str(path), fact, "Give one of them another name")


def _refuse_references(feeds: dict[Path, Feed]) -> None:
    """Raise if a view reads a view or a feed that is not there, or one that reads it in turn."""
    problems: dict[Path, list[tuple[int, str]]] = {}
    paths = {feed.feed: path for path, feed in feeds.items()}
    for feed, index, fact in wrong_references(list(feeds.values())):
        path, loc = paths[feed.feed], ("gold", index, "sql")
        problems.setdefault(path, []).append(
            (Document(path).line_of(loc), f"{_dotted(loc)} {fact}")
        )
    for path, found in problems.items():
        raise _wrong(path, found)
