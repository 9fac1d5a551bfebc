"""Reads feeds from a folder of files, or says on which line what is wrong and what is right.

What a feed is, is `model.feeds`' business.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from lake_assets.errors import FeedError
from lake_assets.feeds.cron import complaint
from lake_assets.feeds.document import Document, Loc
from lake_assets.feeds.explain import dotted, explain, suggest
from lake_assets.feeds.functions import find_function, hidden_module, look_beside
from lake_assets.feeds.python_files import feeds_of, is_feed_file
from lake_assets.feeds.references import wrong_references
from lake_assets.model.ddl import Scalar
from lake_assets.model.feeds import Feed
from lake_assets.model.owners import Owner, claims_of
from lake_assets.model.routes import KEY_TYPES
from lake_assets.model.tables import LOG_NAMES

_SHIPPED = Path(__file__).parent

_YAML = {".yaml", ".yml"}

_SHOWN = 3
"""Problems named at once; more would not fit a line that people read."""


def load_feeds(folder: Path | None) -> tuple[Feed, ...]:
    """All feeds of a folder's `*.yaml`, `*.yml` and `*feeds.py`, sorted by name; None: the shipped.

    Each knows the others. Modules beside the files are imported where feeds name them.

    Raises:
        FeedError: there is no feed, a file is wrong, two feeds want the same table, or a view reads
            what is not there or reads it in turn.
    """
    if folder is not None:
        look_beside(folder)
    feeds = [(path, feed) for path in _files(folder or _SHIPPED) for feed in _load(path)]
    _refuse_shared_names(feeds)
    _refuse_references(feeds)
    loaded = sorted((feed for _, feed in feeds), key=lambda feed: feed.feed)
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
        files = sorted(p for p in folder.iterdir() if p.suffix in _YAML or is_feed_file(p))
    except OSError as problem:
        raise FeedError(
            f"feeds folder {folder}",
            f"cannot be read ({problem.strerror or problem})",
            "Correct LAKE_ASSETS_FEEDS, or unset it to use the shipped feeds",
        ) from problem
    if not files:
        raise FeedError(
            f"feeds folder {folder}",
            "has no *.yaml file, and no *feeds.py",
            "Put a feed there, or unset LAKE_ASSETS_FEEDS to use the shipped feeds",
        )
    return files


def _load(path: Path) -> list[Feed]:
    if path.suffix in _YAML:
        return [_read(path)]
    feeds = feeds_of(path)
    for feed in feeds:
        for loc, fact in _facts(feed, path.parent):
            raise FeedError(f"{path}, feed {feed.feed!r}", f"{dotted(loc)}: {fact}", "Correct it")
    return feeds


def _read(path: Path) -> Feed:
    document = Document(path)
    try:
        feed = Feed.model_validate(document.data)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        lines = [(document.line_of(error["loc"]), explain(error)) for error in errors]
        raise _wrong(path, lines) from problem
    facts = _facts(feed, path.parent)
    wrong = [(document.line_of(loc), f"{dotted(loc)}: {fact}") for loc, fact in facts]
    if wrong:
        raise _wrong(path, wrong)
    return feed


def _facts(feed: Feed, folder: Path) -> Iterator[tuple[Loc, str]]:
    """What is wrong with a feed whose fields are right, each by itself."""
    yield from _bad_crons(feed)
    yield from _foreign_columns(feed)
    yield from _foreign_route(feed)
    yield from _shared_templates(feed)
    yield from _unhinted_partitions(feed)
    yield from _unusable_function(feed, folder)


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
    for index, view in enumerate(feed.gold):
        fact = complaint(view.schedule) if view.schedule is not None else None
        if fact is not None:
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
                    fact = f"{column!r} is no column of the view; {suggest(column, list(present))}"
                    yield ("gold", index, "checks", place, check.kind), fact


def _foreign_route(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """A route by a column that the payload's declared schema has not, or that holds no keys.

    Columns that rows bring are none to route by: rows would decide what type the keys have. Those
    that are selected, or that a function gives, are known once these were tried
    (`silver.selecting_format`, `silver.transforming_format`).
    """
    payload = feed.payload
    if payload.needs_registry or feed.route is None or feed.select or feed.transform:
        return
    name = feed.route.column
    declared = {column.name: column.type for column in payload.declared_columns}
    if name not in declared:
        where = "hints" if payload.infers else "schema"
        fact = f"{name!r} is no column of the payload's {where}"
        yield ("route", "column"), f"{fact}; {suggest(name, list(declared))}"
        return
    kind = declared[name]
    word = kind.name if isinstance(kind, Scalar) else type(kind).__name__.lower()
    if word not in KEY_TYPES:
        fact = f"{name!r} is of type {word}, which holds no keys"
        yield ("route", "column"), f"{fact}: use one of {', '.join(KEY_TYPES)}"


def _unusable_function(feed: Feed, folder: Path) -> Iterator[tuple[Loc, str]]:
    """A function that is not there, or one of another module than the one beside the file."""
    name = feed.transform
    if name is None:
        return
    try:
        find_function(name)
    except FeedError as problem:
        yield ("transform",), f"{problem.thing}: {problem.fact} ({problem.next_step})"
        return
    if other := hidden_module(name, folder):
        fact = f"{name} is that of {other}, which hides the module beside the feed"
        yield ("transform",), f"{fact}: give that one another name"


def _unhinted_partitions(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """Partitions by columns whose type rows decide: they might get one that partitions nothing."""
    hinted = {column.name for column in feed.payload.declared_columns}
    computes = feed.select or feed.transform
    sources = dict.fromkeys(column.source for by in feed.partitions for column in by)
    for name in sources if feed.payload.infers and not computes else ():
        if name not in hinted:
            fact = f"{name!r} is no column of the payload's hints"
            yield ("partition_by",), f"{fact}; {suggest(name, sorted(hinted))}"


def _refuse_shared_names(feeds: Sequence[tuple[Path, Feed]]) -> None:
    """Raise if two feeds have one name, or if a table would have the name of another."""
    named: dict[str, Path] = {}
    owners: dict[str, Owner] = {}
    for path, feed in feeds:
        if feed.feed in named:
            fact = f"feed {feed.feed!r} is declared in {named[feed.feed]} already"
            raise FeedError(str(path), fact, "Give one of them another name")
        named[feed.feed] = path
        for table, owner in claims_of(feed, feed.keys):
            if table.name in LOG_NAMES:
                fact = f"table {table.name} of {owner} has the name of a log of the lake"
                raise FeedError(str(path), fact, "Give it another name in `tables`")
            if table.name in owners:
                fact = f"table {table.name} of {owner} is that of {owners[table.name]} already"
                raise FeedError(str(path), fact, "Give one of them another name")
            owners[table.name] = owner


def _refuse_references(feeds: Sequence[tuple[Path, Feed]]) -> None:
    """Raise if a view reads a view or a feed that is not there, or one that reads it in turn."""
    problems: dict[Path, list[tuple[int, str]]] = {}
    paths = {feed.feed: path for path, feed in feeds}
    for feed, index, fact in wrong_references([feed for _, feed in feeds]):
        path, loc = paths[feed.feed], ("gold", index, "sql")
        if path.suffix not in _YAML:
            raise FeedError(f"{path}, feed {feed.feed!r}", f"{dotted(loc)} {fact}", "Correct it")
        problems.setdefault(path, []).append((Document(path).line_of(loc), f"{dotted(loc)} {fact}"))
    for path, found in problems.items():
        raise _wrong(path, found)
