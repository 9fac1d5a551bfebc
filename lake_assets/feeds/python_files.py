"""Feeds that a file of Python makes: `feeds.py` or `*_feeds.py`, with a function `feeds()`.

It is imported as a module of its own name, so that functions in it can be a feed's `transform`.
What is wrong with a feed, in whatever file, is found by `feeds.load`.
"""

import importlib
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lake_assets.errors import FeedError, first_line
from lake_assets.feeds.explain import dotted, explain, said
from lake_assets.feeds.problems import Words, problem_at
from lake_assets.model.feeds import Feed

_STEP = "Correct that line, or what it calls"

_EXAMPLE = "Write `def feeds(): return [Feed.model_validate({…})]`"


def is_feed_file(path: Path) -> bool:
    """Whether a file makes feeds; other modules beside it are what feeds import."""
    return path.suffix == ".py" and (path.stem == "feeds" or path.stem.endswith("_feeds"))


def feeds_of(path: Path) -> list[Feed]:
    """The feeds that a file's `feeds()` gives, in its order.

    Args:
        path: of the file; its folder is where modules are looked for (`feeds.functions`).

    Raises:
        FeedError: it cannot be imported, has no such function, or that raises or gives no feeds.
    """
    try:
        made = _made(path)
    except FeedError:
        raise
    except ValidationError as problem:
        words = _words(problem)
        raise problem_at(_where(path, problem), None, *words) from problem
    except Exception as problem:  # a file may raise anything
        fact = f"raises {type(problem).__name__}: {first_line(problem)}"
        raise FeedError(_where(path, problem), fact, _STEP) from problem
    for place, one in enumerate(made):
        if not isinstance(one, Feed):
            fact = f"`feeds()` gives {type(one).__name__} at place {place}, and no feed"
            raise FeedError(str(path), fact, _EXAMPLE)
    return made


def _made(path: Path) -> list[Any]:
    function = getattr(_module(path), "feeds", None)
    if not callable(function):
        raise FeedError(str(path), "has no function `feeds`", _EXAMPLE)
    given = function()
    if isinstance(given, Feed) or not isinstance(given, Iterable):
        fact = f"`feeds()` gives {type(given).__name__}, and no list of feeds"
        raise FeedError(str(path), fact, _EXAMPLE)
    # Looked at again, since copies that were changed (`model_copy`) were not.
    return [_looked_at(one) if isinstance(one, Feed) else one for one in given]


def _looked_at(feed: Feed) -> Feed:
    """The feed, checked, with no more declared than it has: a default is nobody's word."""
    return Feed.model_validate(
        {name: value for name, value in feed if name in feed.model_fields_set}
    )


def _module(path: Path) -> Any:  # noqa: ANN401 - a module has any attribute
    module = importlib.import_module(path.stem)
    origin = getattr(module, "__file__", None)
    if origin is None or Path(origin).resolve() != path.resolve():
        fact = f"is hidden by the module {path.stem} of {origin or 'Python itself'}"
        raise FeedError(str(path), fact, "Give the file another name, such as shop_feeds.py")
    return module


def _where(path: Path, problem: Exception) -> str:
    """The file, and its lines that led to the error, the innermost last."""
    if isinstance(problem, SyntaxError) and problem.filename == str(path):
        return f"{path}, line {problem.lineno}"
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return ", ".join([str(path), *(f"line {line}" for line in lines)])


def _words(problem: ValidationError) -> Words:
    """What is wrong first with what a file makes."""
    first, *others = problem.errors(include_url=False)
    if problem.title == Feed.__name__:
        words = explain(first)
    else:
        fact = f"{problem.title}: {dotted(first['loc'])}"
        words = said(first["msg"].removeprefix("Value error, "), fact, ())
    more = f"; and {len(others)} more" if others else ""
    return Words(f"{words.fact}{more}", words.next_step)
