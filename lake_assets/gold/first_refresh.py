"""Deciding which scheduled views are refreshed at once: those never computed. Pure."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstRefreshes:
    """What to ask for now, and what to remember until the next look."""

    due: tuple[str, ...]
    """Names of views, in the order in which they are scheduled."""

    asked: tuple[str, ...]
    """Names of views that have been asked for and are not computed yet, sorted."""


def first_refreshes(
    scheduled: Collection[str],
    *,
    never_computed: Collection[str],
    asked: Collection[str],
    turned_off: Collection[str],
) -> FirstRefreshes:
    """Ask once for each view that was never computed; if that fails, its schedule tries again.

    Args:
        scheduled: all views with a schedule.
        never_computed: those without a row whose silver has some.
        asked: `FirstRefreshes.asked` of the last look.
        turned_off: views whose schedule somebody turned off; they are not asked for.
    """
    due = [v for v in scheduled if v in never_computed and v not in {*asked, *turned_off}]
    # What was computed meanwhile is forgotten, so that it counts as new after a reset.
    waiting = {name for name in asked if name in never_computed}
    return FirstRefreshes(due=tuple(due), asked=tuple(sorted({*waiting, *due})))
