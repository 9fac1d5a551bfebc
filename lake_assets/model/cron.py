"""Cron expressions: how whoever writes one can get it wrong, when they tick, and a name for each.

Ticks are in UTC, as Dagster takes them where no time zone is named.
"""

import re
from datetime import UTC, datetime

from croniter import CroniterBadDateError, croniter  # type: ignore[import-untyped]  # no stubs

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
        count = f"{expression!r} has {len(words)} fields"
        return f"{count}, not 5 (minute hour day month weekday)\n{_LIKE}"
    for word, (name, least, most) in zip(words, _FIELDS, strict=True):
        if not all(_fits(part, least, most) for part in word.split(",")):
            return f"{word!r} in {expression!r} is no {name}\nuse *, {least}-{most}, lists or */n"
    if next_tick(expression, _ANY_DAY) is None:
        return f"{expression!r} {_NEVER}"
    return None


_NEVER = "never comes: no month has that day\nname a day that the month has"

_LIKE = "write it like '*/15 * * * *'"


def setting_complaint(expression: str) -> str | None:
    """What is wrong with an expression of a setting, or None.

    Names (`MON-FRI`) and words (`@daily`) are taken, since Dagster takes them.
    """
    if expression.startswith("@") or len(expression.split()) == len(_FIELDS):
        if not croniter.is_valid(expression):
            return f"{expression!r} is no cron expression\n{_LIKE}"
        if next_tick(expression, _ANY_DAY) is None:
            return f"{expression!r} {_NEVER}"
        return None
    return complaint(expression)


_ANY_DAY = datetime(2024, 1, 1, tzinfo=UTC)


def next_tick(expression: str, after: datetime) -> datetime | None:
    """When an expression without a complaint ticks next; None if it never does."""
    try:
        tick: datetime = croniter(expression, after.astimezone(UTC)).get_next(datetime)
    except CroniterBadDateError:
        return None
    return tick


def _fits(part: str, least: int, most: int) -> bool:
    match = _PART.fullmatch(part)
    if match is None:
        return False
    first = int(match["first"] or least)
    last = int(match["last"] or first)
    return least <= first <= last <= most


def next_tick_in_words(expression: str, after: datetime) -> str:
    """As `next_tick`, for people: `at 2026-11-25 15:00 UTC (0 * * * *)`."""
    tick = next_tick(expression, after)
    return f"at {tick:%Y-%m-%d %H:%M} UTC ({expression})" if tick else f"never ({expression})"


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
