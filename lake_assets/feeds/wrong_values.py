"""What is said of a value that a field cannot have: what it must be, what it is, and an example."""

import re
from datetime import timedelta
from difflib import get_close_matches

from pydantic_core import ErrorDetails

from lake_assets.feeds.document import Loc
from lake_assets.feeds.examples import example_of
from lake_assets.feeds.known_fields import is_required
from lake_assets.feeds.problems import Words


def wrong_value(problem: ErrorDetails, where: str, raw: str | None) -> Words:
    """What is wrong with a value, of whatever kind.

    Args:
        problem: as pydantic tells it.
        where: the field.
        raw: what stands in the file.
    """
    kind, found = problem["type"], found_in(problem["input"], raw)
    loc, limits = problem["loc"], problem.get("ctx", {})
    if kind in {"enum", "literal_error"}:
        return _wrong_choice(where, str(limits.get("expected", "")), problem["input"], found)
    if kind == "string_pattern_mismatch" and loc[-1] == "env":
        fact = f"{where} must be the name of an environment variable: letters, digits and _"
        return Words(fact, again(loc))
    if kind == "string_pattern_mismatch":
        fact = f"{where} is {found}, which has not the form `{limits.get('pattern')}`"
        return Words(fact, again(loc))
    bound = next((name for name in _LIMITS if name in limits), None)
    if bound is not None:
        words = _LIMITS[bound].format(_limit(limits[bound]))
        return _out_of_bounds(problem, where, words, found)
    return _wrong_kind(problem, where, raw, found)


def _wrong_kind(problem: ErrorDetails, where: str, raw: str | None, found: str) -> Words:
    kind, loc, value = problem["type"], problem["loc"], problem["input"]
    if kind in {"tuple_type", "list_type", "set_type"}:
        fact = f"{where} must be a list, such as [{_listed(value)}]; it is {found}"
        return Words(fact, f"Write `{example_of(loc)}`")
    if kind == "string_type":
        is_single = raw is not None and value is not None
        step = f"Write it in quotes: '{raw}'" if is_single else again(loc)
        return Words(f"{where} must be text, not {found}", step)
    for begin, (words, example) in _WANTED.items():
        if kind.startswith(begin):
            return Words(f"{where} must be {words}, not {found}", again(loc, example))
    return Words(f"{where} cannot be {found}", again(loc))


def _out_of_bounds(problem: ErrorDetails, where: str, bound: str, found: str) -> Words:
    kind, loc = problem["type"], problem["loc"]
    step = again(loc) if is_required(loc) else "Change it, or leave it out for the default"
    if kind == "string_too_short" and problem.get("ctx", {}).get("min_length") == 1:
        return Words(f"{where} must not be empty", step)
    if kind.startswith("string_too_"):
        return Words(f"{where} must have {bound} characters, and is {found}", step)
    if kind.startswith("too_"):
        count = problem.get("ctx", {}).get("actual_length", "others")
        return Words(f"{where} must have {bound} in it, and has {count}", step)
    return Words(f"{where} must be {bound}, and is {found}", step)


def _wrong_choice(where: str, expected: str, given: object, found: str) -> Words:
    choices = re.findall(r"'([^']*)'|(\d+)", expected)
    names = [text or number for text, number in choices]
    close = get_close_matches(str(given), names, n=1)
    step = f"Write `{close[0]}`" if close else f"Write one of {', '.join(names)}"
    return Words(f"{where} must be {expected}, not {found}", step)


_WANTED = {
    "int_": ("a whole number, such as 3", "3"),
    "float_": ("a number, such as 0.05", "0.05"),
    "finite": ("a number, such as 3", "3"),
    "bool_": ("true or false", "true"),
    "dict_": ("a mapping, as `{name: value}`", "{name: value}"),
    "mapping_": ("a mapping, as `{name: value}`", "{name: value}"),
    "string_sub": ("text", "a text"),
    "date": ("a date or a time, such as 2026-03-01", "2026-03-01"),
    "time": ("a duration, such as 30s", "30s"),
    "path_": ("a path", "/data/arriving"),
    "url_": ("an address, such as https://host/path", "https://host/path"),
}
"""By the beginning of pydantic's type of a problem, what a value must be, and an example."""

_LIMITS = {
    "ge": "at least {}",
    "gt": "more than {}",
    "le": "at most {}",
    "lt": "less than {}",
    "min_length": "at least {}",
    "max_length": "at most {}",
}


def _limit(value: object) -> str:
    """A bound as a feed has it: pydantic tells those of durations as Python writes them."""
    if isinstance(value, float):
        return f"{value:g}"
    parts = re.fullmatch(r"datetime\.timedelta\((.*)\)", str(value))
    if parts is None:
        return str(value)
    told = {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", parts[1])}
    seconds = timedelta(**told).total_seconds()
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")):
        if seconds >= length and seconds % length == 0:
            return f"{seconds // length:g}{unit}"
    return f"{seconds * 1000:g}ms"


def again(loc: Loc, value: str = "a text") -> str:
    """To write a field as it may be."""
    return f"Write it as `{example_of(loc, value)}`"


HIDDEN = object()
"""Stands for a value that may be a secret, and is written nowhere."""


def found_in(value: object, raw: str | None) -> str:
    """A value in words; what may be long is named by its kind alone."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        shown = raw or str(value).lower()
        return shown if shown in {"true", "false"} else f"`{shown}`, which is {str(value).lower()}"
    if isinstance(value, str):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - half a line
    kinds = (
        (int | float, f"the number {raw or value}"),
        (list | tuple, "a list"),
        (dict, "a mapping"),
    )
    found = next((words for kind, words in kinds if isinstance(value, kind)), None)
    return found or (f"`{raw}`" if raw else "what stands there")


def _listed(value: object) -> str:
    """What may stand in the list that was meant: a single name, or what stands for any."""
    return value if isinstance(value, str) and value.isidentifier() else "a, b"
