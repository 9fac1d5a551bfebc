"""What is wrong with feeds, each with its place in a file; several are one error, a line each.

Finding them is `feeds.load`'s, and `validation`'s.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lake_assets.errors import FeedError


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something is; lines and columns are counted from 1."""

    line: int
    column: int


class Words(NamedTuple):
    """What is said of a problem."""

    fact: str
    """With the field that it is of."""

    next_step: str


class FeedsError(FeedError):
    """Several things are wrong with feeds; each is a `FeedError` and a line of the message."""

    def __init__(self, problems: Sequence[FeedError]) -> None:
        """Put them together; as a thing, a fact and a next step it is the first of them."""
        first = problems[0]
        super().__init__(first.thing, first.fact, first.next_step)
        self.args = ("\n".join(map(str, problems)),)
        self.file, self.line, self.column = first.file, first.line, first.column
        self.problems = tuple(problems)


def problem_at(file: str, place: Place | None, fact: str, next_step: str) -> FeedError:
    """The error of a part of a file; without a place, of all of it.

    Args:
        file: its path.
        place: of the part.
        fact: what is wrong with it.
        next_step: what to do.
    """
    thing = file if place is None else f"{file}, line {place.line}"
    problem = FeedError(thing, _shown(fact), _shown(next_step))
    problem.file = file
    if place is not None:
        problem.line, problem.column = place.line, place.column
    return problem


_LOGIN = re.compile(r"(?<=://)[^\s/'`@]*(?=@)")

_LONG = re.compile(r"'([^']{60})[^']{200,}'")
"""What is quoted of a file; nobody reads more of it than its beginning."""


def _shown(words: str) -> str:
    """Words of one line for people: no login of an address, no signs that a terminal obeys."""
    words = _LONG.sub(r"'\1…'", _LOGIN.sub("…", words))
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in words
    )


def together(problems: Sequence[FeedError]) -> FeedError:
    """One error of what is at least one."""
    return problems[0] if len(problems) == 1 else FeedsError(problems)


def each_of(problem: FeedError) -> tuple[FeedError, ...]:
    """What an error consists of: itself, or several."""
    return problem.problems if isinstance(problem, FeedsError) else (problem,)
