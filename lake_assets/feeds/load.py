"""Reads feeds from a folder of files, or says on which line what is wrong and what is right.

What a feed is, is `model.feeds`' business.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError

from lake_assets.errors import FeedError
from lake_assets.feeds.document import Document, Loc
from lake_assets.feeds.explain import dotted, explain
from lake_assets.feeds.facts import facts_of, foreign_route, unhinted_partitions
from lake_assets.feeds.files_facts import unread_routes
from lake_assets.feeds.flows import with_targets, wrong_flows
from lake_assets.feeds.functions import look_beside
from lake_assets.feeds.python_files import feeds_of, is_feed_file
from lake_assets.feeds.references import wrong_references
from lake_assets.model.feeds import Feed
from lake_assets.model.owners import Owner, claims_of
from lake_assets.model.tables import LOG_NAMES

_Read: TypeAlias = tuple[Path, Feed]
"""A feed, and the file that it is from."""

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
    _refuse_twins(feeds)
    feeds = _with_targets(feeds)
    _refuse_shared_tables(feeds)
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
        # Hidden ones are editors' and systems': locks, copies, what a Mac notes of each file.
        shown = (path for path in folder.iterdir() if not path.name.startswith("."))
        files = sorted(path for path in shown if path.suffix in _YAML or is_feed_file(path))
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
    feeds = [_read(path)] if path.suffix in _YAML else feeds_of(path)
    for feed in feeds:
        facts = facts_of(feed, path.parent)
        _refuse(path, feed, [(loc, f"{dotted(loc)}: {fact}") for loc, fact in facts])
    return feeds


def _read(path: Path) -> Feed:
    document = Document(path)
    try:
        return Feed.model_validate(document.data)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        lines = [(document.line_of(error["loc"]), explain(error)) for error in errors]
        raise _wrong(path, lines) from problem


def _refuse(path: Path, feed: Feed, told: Iterable[tuple[Loc, str]]) -> None:
    """Raise if anything is told of a feed: of which field, and what."""
    problems = list(told)
    if problems and path.suffix not in _YAML:
        raise FeedError(f"{path}, feed {feed.feed!r}", problems[0][1], "Correct it")
    if problems:
        document = Document(path)
        raise _wrong(path, [(document.line_of(loc), text) for loc, text in problems])


def _wrong(path: Path, problems: list[tuple[int, str]]) -> FeedError:
    """The error of a file, its first problems in the order of their lines."""
    problems.sort(key=lambda problem: problem[0])
    first, *others = problems[:_SHOWN]
    fact = "; ".join([first[1], *(f"line {line}: {text}" for line, text in others)])
    if len(problems) > _SHOWN:
        fact += f"; and {len(problems) - _SHOWN} more"
    return FeedError(f"{path}, line {first[0]}", fact, "Correct the file")


def _refuse_twins(feeds: Sequence[_Read]) -> None:
    """Raise if two feeds have one name."""
    named: dict[str, Path] = {}
    for path, feed in feeds:
        if feed.feed in named:
            fact = f"feed {feed.feed!r} is declared in {named[feed.feed]} already"
            raise FeedError(str(path), fact, "Give one of them another name")
        named[feed.feed] = path


def _with_targets(feeds: Sequence[_Read]) -> list[_Read]:
    """Each feed with what it has of another whose tables it fills; raises if that is wrong."""
    declared = [feed for _, feed in feeds]
    wrong = list(wrong_flows(declared))
    for path, feed in feeds:
        own = [((name,), f"{name}: {fact}") for whose, name, fact in wrong if whose is feed]
        _refuse(path, feed, own)
    resolved = [(path, feed) for (path, _), feed in zip(feeds, with_targets(declared), strict=True)]
    for path, feed in resolved:
        if feed.into is not None:
            facts = (*foreign_route(feed), *unhinted_partitions(feed), *_unread(feed))
            told = f"into: feed {feed.into!r} declares"
            _refuse(
                path, feed, [(("into",), f"{told} {dotted(at)}, and {fact}") for at, fact in facts]
            )
    return resolved


def _unread(feed: Feed) -> Iterable[tuple[Loc, str]]:
    return () if feed.source.kafka is not None else unread_routes(feed, feed.source.kind)


def _refuse_shared_tables(feeds: Sequence[_Read]) -> None:
    """Raise if a table would have the name of another."""
    owners: dict[str, Owner] = {}
    for path, feed in feeds:
        for table, owner in claims_of(feed, feed.keys):
            if table.name in LOG_NAMES:
                fact = f"table {table.name} of {owner} has the name of a log of the lake"
                raise FeedError(str(path), fact, "Give it another name in `tables`")
            if owners.setdefault(table.name, owner) != owner:
                fact = f"table {table.name} of {owner} is that of {owners[table.name]} already"
                raise FeedError(str(path), fact, "Give one of them another name")


def _refuse_references(feeds: Sequence[_Read]) -> None:
    """Raise if a view reads a view or a feed that is not there, or one that reads it in turn."""
    wrong = list(wrong_references([feed for _, feed in feeds]))
    for path, feed in feeds:
        places = [(("gold", index, "sql"), fact) for whose, index, fact in wrong if whose is feed]
        _refuse(path, feed, [(loc, f"{dotted(loc)} {fact}") for loc, fact in places])
