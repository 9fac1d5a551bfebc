"""Judges all feeds of a folder: what they may declare, then what they say of their columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lake_assets.errors import FeedError
from lake_assets.feeds.explain import dotted
from lake_assets.feeds.load import FeedFile, ReadFeeds, read_feeds
from lake_assets.feeds.problems import problem_at
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.settings.schema import Settings
from lake_assets.validation.columns import FeedColumns, NotKnown, columns_of
from lake_assets.validation.known_columns import UNKNOWN, Columns
from lake_assets.validation.quick import Known, Problem, judge
from lake_assets.validation.texts import Declared


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What is wrong, or could not be looked at."""

    error: FeedError
    is_warning: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One feed that can be read, and what is known of it."""

    file: FeedFile
    declared: Declared
    known: Known
    problems: Sequence[Problem]


SecondJudge = Callable[[Sequence[Judged]], Mapping[str, Sequence[Problem]]]
"""Takes what the quick judge said, and says by name of a feed what is wrong with it after all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What was found."""

    feeds: tuple[str, ...]
    """Those that can be read."""

    found: tuple[Found, ...] = field(default=())

    @property
    def errors(self) -> tuple[FeedError, ...]:
        """Without warnings."""
        return tuple(one.error for one in self.found if not one.is_warning)

    @property
    def warnings(self) -> tuple[FeedError, ...]:
        """The others."""
        return tuple(one.error for one in self.found if one.is_warning)


def validate(
    settings: Settings,
    locate: Callable[[Sequence[Feed]], Endpoints | None],
    *,
    only: str | None = None,
    second: SecondJudge | None = None,
) -> Report:
    """Look at all feeds.

    Args:
        settings: where they are.
        locate: where the registry answers that some feeds need; None if none does.
        only: the one feed whose SQL is judged; what it cannot be read for is told in any case.
        second: a slower judge, who has the last word.

    Raises:
        FeedError: the folder cannot be read, or has no feeds, or not that one.
    """
    read = read_feeds(settings.feeds)
    files = _wanted(read, only)
    endpoints = locate([file.feed for file in read.files])
    columns = {file.feed.feed: columns_of(settings, endpoints, file.feed) for file in read.files}
    judged = [_judged(file, read, columns) for file in files]
    last = second(judged) if second is not None and judged else {}
    found = [Found(error=problem) for problem in read.problems]
    for one in judged:
        name = one.file.feed.feed
        found += [_found(one.file, problem) for problem in last.get(name, one.problems)]
        if why := columns[name].unknown:
            found.append(_unchecked(one.file, why))
    return Report(
        feeds=tuple(file.feed.feed for file in files),
        found=tuple(sorted(found, key=_place)),
    )


def _wanted(read: ReadFeeds, only: str | None) -> Sequence[FeedFile]:
    if only is None:
        return read.files
    files = [file for file in read.files if file.feed.feed == only]
    if not files and not read.problems:
        names = ", ".join(file.feed.feed for file in read.files)
        raise FeedError(f"feed {only!r}", "is not declared", f"Use one of: {names}")
    return files


def _judged(file: FeedFile, read: ReadFeeds, columns: Mapping[str, FeedColumns]) -> Judged:
    feed = file.feed
    declared = Declared(feed, file.document)
    known = Known(
        own=_own_columns(feed, columns),
        views=dict(_views(feed, read, columns)),
        silver_of={name: one.silver for name, one in columns.items()},
    )
    return Judged(file=file, declared=declared, known=known, problems=tuple(judge(declared, known)))


def _own_columns(feed: Feed, columns: Mapping[str, FeedColumns]) -> FeedColumns:
    """Of tables that others fill, too: what their rows have is in them."""
    own = columns[feed.feed]
    fillers = [columns[other.feed] for other in feed.others if other.into == feed.feed]
    if not fillers:
        return own
    every = [own.silver, *(one.silver for one in fillers)]
    types = {name: kind for one in reversed(every) for name, kind in one.types.items()}
    silver = Columns(types, any(one.is_open for one in every))
    return replace(own, silver=silver)


def _views(
    feed: Feed, read: ReadFeeds, columns: Mapping[str, FeedColumns]
) -> Iterator[tuple[tuple[str, str], Columns]]:
    for file in read.files:
        for view in file.feed.gold:
            found = _columns_of_view(view, columns[file.feed.feed])
            yield (file.feed.feed, view.name), found
            if file.feed.feed == feed.feed:
                yield ("", view.name), found


def _columns_of_view(view: GoldView, own: FeedColumns) -> Columns:
    if view.columns is not None:
        return Columns(dict.fromkeys(view.columns))
    if view.keyed is None or own.silver.is_open:
        return UNKNOWN
    left_out = {name.lower() for name in view.keyed.except_columns}
    kept = {name: kind for name, kind in own.silver.types.items() if name.lower() not in left_out}
    return Columns(kept).and_("__start_at", "__end_at")


def _found(file: FeedFile, problem: Problem) -> Found:
    fact = f"{dotted(problem.loc)}: {problem.fact}"
    step = problem.next_step or "Correct it"
    if file.document is None or not problem.end:
        return Found(error=file.problem(problem.loc, fact, step))
    place = file.document.place_within(problem.loc, problem.start, problem.end)
    return Found(error=problem_at(str(file.path), place, fact, step))


def _unchecked(file: FeedFile, unknown: NotKnown) -> Found:
    field = "transform" if unknown.why.startswith("transform ") else "payload"
    if unknown.is_wrong:
        error = file.problem((field,), f"{field}: {unknown.why}", unknown.next_step)
        return Found(error=error)
    fact = f"payload: columns could not be checked against the schema, because {unknown.why}"
    return Found(error=file.problem(("payload",), fact, unknown.next_step), is_warning=True)


def _place(found: Found) -> tuple[str, int, int, bool]:
    error = found.error
    return (error.file or "", error.line or 0, error.column or 0, found.is_warning)
