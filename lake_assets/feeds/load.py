"""Reads feeds from a folder of files, or says on which lines what is wrong and what is right.

What a feed is, is `model.feeds`' business. Whether its SQL fits its columns is `validation`'s.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from lake_assets.errors import FeedError
from lake_assets.feeds.document import Document, Loc
from lake_assets.feeds.explain import dotted, explain, said, told_once
from lake_assets.feeds.facts import facts_of, foreign_route, unhinted_partitions
from lake_assets.feeds.files_facts import unread_routes
from lake_assets.feeds.flows import with_targets, wrong_flows
from lake_assets.feeds.functions import look_beside
from lake_assets.feeds.meant_fields import field_meant
from lake_assets.feeds.problems import each_of, problem_at, together
from lake_assets.feeds.python_files import feeds_of, is_feed_file
from lake_assets.feeds.references import wrong_references
from lake_assets.model.feeds import Feed
from lake_assets.model.owners import Owner, claims_of
from lake_assets.model.tables import LOG_NAMES

_SHIPPED = Path(__file__).parent

_YAML = {".yaml", ".yml"}


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedFile:
    """A feed, and where it is declared."""

    feed: Feed
    path: Path
    document: Document | None
    """Its file with places of its parts; None of a feed that Python makes."""

    def problem(self, loc: Loc, fact: str, next_step: str) -> FeedError:
        """What is wrong with a part of it."""
        if self.document is None:
            thing = f"{self.path}, feed {self.feed.feed!r}"
            return problem_at(thing, None, fact, next_step)
        place = self.document.place_of(loc)
        return problem_at(str(self.path), place, fact, next_step)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFeeds:
    """What a folder declares, as far as it can be read."""

    files: tuple[FeedFile, ...]
    """Sorted by name; each feed knows the others."""

    problems: tuple[FeedError, ...]
    """What is wrong, in the order of files and lines."""


def load_feeds(folder: Path | None) -> tuple[Feed, ...]:
    """All feeds of a folder's `*.yaml`, `*.yml` and `*feeds.py`, sorted by name; None: the shipped.

    Each knows the others. Modules beside the files are imported where feeds name them.

    Raises:
        FeedError: there is no feed, a file is wrong, two feeds want the same table, or a view reads
            what is not there or reads it in turn; if that is several things, a `FeedsError`.
    """
    read = read_feeds(folder)
    if read.problems:
        raise together(read.problems)
    return tuple(file.feed for file in read.files)


def read_feeds(folder: Path | None) -> ReadFeeds:
    """As `load_feeds`, with the places of feeds, and with what is wrong beside what is right.

    What feeds are to each other is looked at once each of them can be read.

    Raises:
        FeedError: the folder cannot be read, or has no file of a feed.
    """
    if folder is not None:
        look_beside(folder)
    files: list[FeedFile] = []
    problems: list[FeedError] = []
    for path in files_of(folder):
        try:
            found = _load(path)
        except FeedError as problem:
            problems += each_of(problem)
            continue
        wrong = [problem for file in found for problem in _wrong_facts(file)]
        problems += wrong
        files += [] if wrong else found
    if not problems:
        files, problems = _as_one_lake(files)
    problems.sort(key=lambda one: (one.file or "", one.line or 0, one.column or 0))
    files.sort(key=lambda file: file.feed.feed)
    feeds = [file.feed for file in files]
    return ReadFeeds(
        files=tuple(replace(file, feed=file.feed.beside(feeds)) for file in files),
        problems=tuple(problems),
    )


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


def files_of(folder: Path | None) -> list[Path]:
    """The files of a folder that declare feeds; None: of those that ship.

    Raises:
        FeedError: the folder cannot be read, or has none.
    """
    folder = folder or _SHIPPED
    try:
        # Hidden ones are editors' and systems': locks, copies, what a Mac notes of each file.
        shown = (path for path in folder.iterdir() if not path.name.startswith("."))
        files = sorted(path for path in shown if path.suffix in _YAML or is_feed_file(path))
    except OSError as problem:
        raise FeedError(
            f"feeds folder {folder}",
            f"cannot be read ({problem.strerror or problem})",
            "Name another folder, or none (LAKE_ASSETS_FEEDS) to use the shipped feeds",
        ) from problem
    if not files:
        raise FeedError(
            f"feeds folder {folder}",
            "has no *.yaml file, and no *feeds.py",
            "Put a feed there, or unset LAKE_ASSETS_FEEDS to use the shipped feeds",
        )
    return files


def _load(path: Path) -> list[FeedFile]:
    if path.suffix not in _YAML:
        return [FeedFile(feed=feed, path=path, document=None) for feed in feeds_of(path)]
    document = Document(path)
    if document.data is None:
        fact = "is empty: it declares no feed"
        step = "Begin it with `feed:`, `source:` and `payload:`, or delete it"
        raise problem_at(str(path), None, fact, step)
    try:
        feed = Feed.model_validate(document.data)
    except ValidationError as problem:
        errors = told_once(problem.errors(include_url=False))
        found = [_told(document, error) for error in errors]
        raise together(sorted(found, key=lambda one: (one.line or 0, one.column or 0))) from problem
    return [FeedFile(feed=feed, path=path, document=document)]


def _told(document: Document, error: ErrorDetails) -> FeedError:
    loc = field_meant(document, error)
    words = explain(error, document.text_at(error["loc"]))
    return problem_at(str(document.path), document.place_of(loc), *words)


def _wrong_facts(file: FeedFile) -> Iterator[FeedError]:
    for loc, fact in facts_of(file.feed, file.path.parent):
        yield _of(file, loc, fact)


def _of(file: FeedFile, loc: Loc, message: str) -> FeedError:
    """What is wrong with a part of a feed, as a validator says it."""
    return file.problem(loc, *said(message, dotted(loc), loc))


def _as_one_lake(files: Sequence[FeedFile]) -> tuple[list[FeedFile], list[FeedError]]:
    """The feeds, each with what it has of another's, and what is wrong with them together."""
    problems = [*_twins(files), *_wrong_flows(files)]
    if problems:
        return list(files), problems
    declared = [file.feed for file in files]
    resolved = [
        replace(file, feed=feed) for file, feed in zip(files, with_targets(declared), strict=True)
    ]
    problems = [problem for file in resolved for problem in _unfit(file)]
    return resolved, problems or [*_shared_tables(resolved), *_wrong_references(resolved)]


def _twins(files: Sequence[FeedFile]) -> Iterator[FeedError]:
    """Feeds that have the name of another."""
    named: dict[str, Path] = {}
    for file in files:
        name = file.feed.feed
        if name in named:
            fact = f"feed {name!r} is declared in {named[name].name} already"
            yield file.problem(("feed",), fact, "Give one of them another name")
        named.setdefault(name, file.path)


def _wrong_flows(files: Sequence[FeedFile]) -> Iterator[FeedError]:
    wrong = list(wrong_flows([file.feed for file in files]))
    for file in files:
        for whose, name, fact in wrong:
            if whose is file.feed:
                yield _of(file, (name,), fact)


def _unfit(file: FeedFile) -> Iterator[FeedError]:
    """What a feed that fills another's tables has not that those are made of."""
    feed = file.feed
    if feed.into is None:
        return
    told = f"feed {feed.into!r} declares"
    for at, fact in (*foreign_route(feed), *unhinted_partitions(feed), *_unread(feed)):
        yield _of(file, ("into",), f"{told} {dotted(at)}, and {fact}")


def _unread(feed: Feed) -> Iterable[tuple[Loc, str]]:
    return () if feed.source.kafka is not None else unread_routes(feed, feed.source.kind)


def _shared_tables(files: Sequence[FeedFile]) -> Iterator[FeedError]:
    """Tables that would have the name of another."""
    owners: dict[str, Owner] = {}
    for file in files:
        for table, owner in claims_of(file.feed, file.feed.keys):
            if table.name in LOG_NAMES:
                fact = f"table {table.name} of {owner} has the name of a log of the lake"
                yield file.problem(("tables",), fact, "Give it another name in `tables`")
            elif owners.setdefault(table.name, owner) != owner:
                fact = f"table {table.name} of {owner} is that of {owners[table.name]} already"
                yield file.problem(("tables",), fact, "Give one of them another name")


def _wrong_references(files: Sequence[FeedFile]) -> Iterator[FeedError]:
    """Views that read a view or a feed that is not there, or one that reads them in turn."""
    wrong = list(wrong_references([file.feed for file in files]))
    for file in files:
        for whose, index, fact in wrong:
            if whose is file.feed:
                yield _of(file, ("gold", index, "sql"), fact)
