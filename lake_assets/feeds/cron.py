"""Cron expressions: how a feed's author can get one wrong, and a name for each."""

import re

_FIELDS = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of month", 1, 31),
    ("month", 1, 12),
    ("day of week", 0, 7),
)

_PART = re.compile(r"(?:\*|(?P<first>\d+)(?:-(?P<last>\d+))?)(?:/(?P<step>[1-9]\d*))?")


def complaint(expression: str) -> str | None:
    """What is wrong with a cron expression, or None."""
    words = expression.split()
    if len(words) != len(_FIELDS):
        return f"{expression!r} has {len(words)} fields, not 5 (minute hour day month weekday)"
    for word, (name, least, most) in zip(words, _FIELDS, strict=True):
        if not all(_fits(part, least, most) for part in word.split(",")):
            return f"{word!r} in {expression!r} is no {name}: use *, {least}-{most}, lists or */n"
    return None


def _fits(part: str, least: int, most: int) -> bool:
    match = _PART.fullmatch(part)
    if match is None:
        return False
    first = int(match["first"] or least)
    last = int(match["last"] or first)
    return least <= first <= last <= most


_WORDS = (("*/", "every_"), ("*", "any"), ("/", "_step_"), ("-", "_to_"), (",", "_and_"))


def slug(expression: str) -> str:
    """A name made of an expression's fields, another one for each expression.

    `30 6 * * 1-5` is `30_6_any_any_1_to_5`; `*/5 * * * *` is `every_5`: stars at the end are left
    out.
    """
    first, *others = expression.split()
    while others and others[-1] == "*":
        others.pop()
    name = "_".join((first, *others))
    for sign, word in _WORDS:
        name = name.replace(sign, word)
    return name
